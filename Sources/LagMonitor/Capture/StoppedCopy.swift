package import CLagLinux
internal import LagModel

/// Copies what the runtimes of languages keep of a thread, while that is held.
///
/// The watchdog says of which thread before it asks for a stop, and reads what was copied after the answer; in between it is the tracer's.
// Unchecked: the thread is behind a lock; of the memory the tracer's request and answer order the use, and a request that was given up has no
// other behind it before it is answered.
package final class StoppedCopy: @unchecked Sendable {
    /// Beside the registers and the stack, some 20 µs: the whole stop stays below 200 µs.
    private static let budgetNanoseconds: UInt64 = 100_000

    let memory: MemoryCopy
    private let thread = PthreadMutex<(any LanguageThread)?>(nil)

    init(_ memory: MemoryCopy) { self.memory = memory }

    /// Whose frames are to be copied in the next stop; nil: nobody's.
    func prepare(_ thread: (any LanguageThread)?) { self.thread.withLock { $0 = thread } }

    /// The tracer's thread, which holds the target.
    package func take(_ snapshot: UnsafePointer<cll_snapshot>) {
        guard let thread = thread.withLock({ $0 }) else { return }
        memory.open(snapshot, within: Self.budgetNanoseconds)
        thread.copy(memory, of: snapshot)
        memory.close(nil)
    }
}
