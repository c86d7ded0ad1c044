internal import LagModel

/// Finds CPython's state of a thread: in the lists of interpreters and their threads, by the kernel's number of the thread.
///
/// The lists are read while the process runs, so they may change meanwhile: what is found is checked, and checked again in the copy.
final class PythonThreads: Sendable {
    /// Interpreters of a process; one with more has a list that leads in a circle.
    private static let maximumInterpreters = 64
    /// Threads of all of them.
    private static let maximumThreads = 8192

    private let memory: RemoteMemory
    private let layout: PythonLayout
    private let runtime: UInt64
    /// Where the threads were found the last time.
    private let known = PthreadMutex<[Int32: UInt64]>([:])

    init(_ memory: RemoteMemory, _ layout: PythonLayout, runtime: UInt64) {
        self.memory = memory
        self.layout = layout
        self.runtime = runtime
    }

    /// - Parameter tid: as the process itself knows it.
    func state(of tid: Int32) -> UInt64? {
        if let known = known.withLock({ $0[tid] }), isState(known, of: tid) { return known }
        let found = search(tid)
        known.withLock { known in
            if known.count >= Self.maximumThreads { known.removeAll() }
            known[tid] = found
        }
        return found
    }

    private func search(_ tid: Int32) -> UInt64? {
        var left = Self.maximumThreads
        var interpreter = memory.load(runtime &+ layout.firstInterpreter, as: UInt64.self) ?? 0
        for _ in 0..<Self.maximumInterpreters where interpreter != 0 {
            var thread = memory.load(interpreter &+ layout.firstThread, as: UInt64.self) ?? 0
            while thread != 0, left > 0 {
                left -= 1
                if isState(thread, of: tid, in: interpreter) { return thread }
                thread = memory.load(thread &+ layout.nextThread) ?? 0
            }
            interpreter = memory.load(interpreter &+ layout.nextInterpreter) ?? 0
        }
        return nil
    }

    /// The thread's number and its way back to the interpreter, which no other structure has by chance.
    private func isState(_ address: UInt64, of tid: Int32, in interpreter: UInt64? = nil) -> Bool {
        guard memory.load(address &+ layout.nativeThread, as: UInt64.self) == UInt64(tid),
            let back: UInt64 = memory.load(address &+ layout.interpreter), back != 0
        else { return false }
        return interpreter == nil || back == interpreter
    }
}
