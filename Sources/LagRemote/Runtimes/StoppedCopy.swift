internal import CLagLinux
internal import LagModel

/// Copies the language runtimes' data on a thread while it is stopped.
///
/// The watchdog sets the thread before it requests a stop, and reads the copy after the answer; in between the tracer owns it.
// Unchecked: the thread is behind a lock; the tracer's request and answer order the use of the memory, and after an abandoned
// request, no other is made before it is answered.
final class StoppedCopy: @unchecked Sendable {
    /// The time for the end of the stack and for the frames, each: mostly the whole stop stays below 200 µs.
    private static let budgetNanoseconds: UInt64 = 100_000

    private struct State {
        /// The thread whose frames are copied in the next stop; nil: none.
        var wanted: PreparedThread?
        /// The thread whose frames were copied since then.
        var taken: PreparedThread?
    }

    let memory: MemoryCopy
    private let state = PthreadMutex(State())

    init(_ memory: MemoryCopy) { self.memory = memory }

    /// - Parameter thread: the thread whose frames are copied in the next stop; nil: none.
    func prepare(_ thread: PreparedThread?) { state.withLock { $0 = State(wanted: thread) } }

    /// The thread whose frames are in the copy.
    var taken: PreparedThread? { state.withLock { $0.taken } }

    /// Called by the tracer's thread during a stop: the end of the target's current stack; 0: not known.
    func stackEnd(_ tid: Int32, _ snapshot: UnsafePointer<cll_snapshot>) -> UInt64 {
        guard let thread = wanted(tid) else { return 0 }
        // The snapshot still has the stack of the previous stop.
        memory.open(nil, within: Self.budgetNanoseconds)
        defer { memory.close(nil) }
        return thread.stackEnd(memory, of: snapshot) ?? 0
    }

    /// A late answer may belong to another thread than the current one.
    private func wanted(_ tid: Int32) -> PreparedThread? {
        state.withLock { $0.wanted }.flatMap { $0.tid == tid ? $0 : nil }
    }

    /// Runs the code of a stop once, while the thread runs: at its first use, code is read from its file and bound, some 100 µs
    /// during which the thread would be stopped. The copy is discarded. Call it before the first request.
    func rehearse(_ thread: PreparedThread) {
        memory.makeResident()
        var registers = cll_snapshot()
        registers.known = .max
        prepare(thread)
        _ = stackEnd(thread.tid, &registers)
        take(thread.tid, &registers)
        prepare(nil)
    }

    /// Called by the tracer's thread during a stop.
    func take(_ tid: Int32, _ snapshot: UnsafePointer<cll_snapshot>) {
        guard let thread = wanted(tid) else { return }
        memory.open(snapshot, within: Self.budgetNanoseconds)
        thread.copy(memory, of: snapshot)
        memory.close(nil)
        state.withLock { if $0.wanted === thread { $0.taken = thread } }
    }
}
