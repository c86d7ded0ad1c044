internal import CLagLinux
internal import LagModel

/// Copies what the runtimes of languages keep of a thread, while that is held.
///
/// The watchdog says of which thread before it asks for a stop, and reads what was copied after the answer; in between it is the tracer's.
// Unchecked: the thread is behind a lock; of the memory the tracer's request and answer order the use, and a request that was given up has no
// other behind it before it is answered.
final class StoppedCopy: @unchecked Sendable {
    /// For the end of the stack and for the frames, each: mostly the whole stop stays below 200 µs.
    private static let budgetNanoseconds: UInt64 = 100_000

    private struct State {
        /// Whose frames are to be copied in the next stop; nil: nobody's.
        var wanted: PreparedThread?
        /// Whose were copied since then.
        var taken: PreparedThread?
    }

    let memory: MemoryCopy
    private let state = PthreadMutex(State())

    init(_ memory: MemoryCopy) { self.memory = memory }

    /// - Parameter thread: whose frames are to be copied in the next stop; nil: nobody's.
    func prepare(_ thread: PreparedThread?) { state.withLock { $0 = State(wanted: thread) } }

    /// Whose frames there are.
    var taken: PreparedThread? { state.withLock { $0.taken } }

    /// The tracer's thread, which holds the target: where the stack ends that it is on; 0: not known.
    func stackEnd(_ tid: Int32, _ snapshot: UnsafePointer<cll_snapshot>) -> UInt64 {
        guard let thread = wanted(tid) else { return 0 }
        // The stack that the snapshot has is that of the last stop.
        memory.open(nil, within: Self.budgetNanoseconds)
        defer { memory.close(nil) }
        return thread.stackEnd(memory, of: snapshot) ?? 0
    }

    /// An answer that comes late may be that of another thread than the one which is wanted now.
    private func wanted(_ tid: Int32) -> PreparedThread? {
        state.withLock { $0.wanted }.flatMap { $0.tid == tid ? $0 : nil }
    }

    /// Does once, while the thread runs, what a stop does: the code that this takes is read from its file and bound at its first use, some 100 µs for which the
    /// thread would stand still. What is copied counts for nothing. Before the first request.
    func rehearse(_ thread: PreparedThread) {
        memory.makeResident()
        var registers = cll_snapshot()
        registers.known = .max
        prepare(thread)
        _ = stackEnd(thread.tid, &registers)
        take(thread.tid, &registers)
        prepare(nil)
    }

    /// The tracer's thread, which holds the target.
    func take(_ tid: Int32, _ snapshot: UnsafePointer<cll_snapshot>) {
        guard let thread = wanted(tid) else { return }
        memory.open(snapshot, within: Self.budgetNanoseconds)
        thread.copy(memory, of: snapshot)
        memory.close(nil)
        state.withLock { if $0.wanted === thread { $0.taken = thread } }
    }
}
