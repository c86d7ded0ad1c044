internal import LagModel

/// Finds CPython's state of a thread: in the lists of interpreters and their threads, by the kernel's number of the thread.
///
/// A thread may have a state in each of several interpreters. The lists are read while the process runs, so they may change meanwhile: what is
/// found is checked, and checked again in the copy.
final class PythonThreads: Sendable {
    /// Interpreters of a process; one with more has a list that leads in a circle.
    private static let maximumInterpreters = 64
    /// Threads of all of them.
    private static let maximumThreads = 8192
    /// Frames that one call of the evaluation function may run before it is given up.
    private static let maximumFrames = 1024

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

    /// The one that the thread runs in: of several with frames that of the innermost call.
    /// - Parameter tid: as the process itself knows it.
    func state(of tid: Int32) -> UInt64? {
        let isOnlyOne = (memory.load(firstInterpreter &+ layout.nextInterpreter, as: UInt64.self) ?? 0) == 0
        if isOnlyOne, let known = known.withLock({ $0[tid] }), isListed(known, of: tid) { return known }
        let states = search(tid)
        let found = states.count > 1 ? running(states) ?? states[0] : states.first
        known.withLock { known in
            if known.count >= Self.maximumThreads { known.removeAll() }
            known[tid] = found
        }
        return found
    }

    /// Whether the lists have it as a state of that thread's.
    func holds(_ state: UInt64, of tid: Int32) -> Bool {
        known.withLock { $0[tid] } == state && isListed(state, of: tid) || search(tid).contains(state)
    }

    private var firstInterpreter: UInt64 { memory.load(runtime &+ layout.firstInterpreter) ?? 0 }

    private func search(_ tid: Int32) -> [UInt64] {
        var found: [UInt64] = []
        var left = Self.maximumThreads
        var interpreter = firstInterpreter
        for _ in 0..<Self.maximumInterpreters where interpreter != 0 {
            var thread = memory.load(interpreter &+ layout.firstThread, as: UInt64.self) ?? 0
            while thread != 0, left > 0 {
                left -= 1
                if isState(thread, of: tid, in: interpreter), found.count < Self.maximumInterpreters { found.append(thread) }
                thread = memory.load(thread &+ layout.nextThread) ?? 0
            }
            interpreter = memory.load(interpreter &+ layout.nextInterpreter) ?? 0
        }
        return found
    }

    /// The thread's number and its way back to the interpreter, which no other structure has by chance.
    private func isState(_ address: UInt64, of tid: Int32, in interpreter: UInt64? = nil) -> Bool {
        guard memory.load(address &+ layout.nativeThread, as: UInt64.self) == UInt64(tid),
            let back: UInt64 = memory.load(address &+ layout.interpreter), back != 0
        else { return false }
        return interpreter == nil || back == interpreter
    }

    /// Whether it is still in its list: one that was freed keeps all that it said.
    private func isListed(_ address: UInt64, of tid: Int32) -> Bool {
        guard isState(address, of: tid), let interpreter: UInt64 = memory.load(address &+ layout.interpreter),
            // `prev` lies before `next`, in all versions.
            let previous: UInt64 = memory.load(address &+ layout.nextThread &- 8)
        else { return false }
        let link = previous == 0 ? interpreter &+ layout.firstThread : previous &+ layout.nextThread
        return memory.load(link) == address
    }

    /// Of those with frames the one whose call lies lowest on the stack.
    private func running(_ states: [UInt64]) -> UInt64? {
        states.compactMap { state in anchor(state).map { (state: state, anchor: $0) } }.min { $0.anchor < $1.anchor }?.state
    }

    /// What the innermost call of the evaluation function has on the C stack; nil: none runs.
    private func anchor(_ state: UInt64) -> UInt64? {
        switch layout.current {
        case .cframe(let offset, let current):
            guard let place: UInt64 = memory.load(state &+ offset), place != 0,
                let frame: UInt64 = memory.load(place &+ current), frame != 0
            else { return nil }
            return place
        case .frame(let offset):
            var frame: UInt64 = memory.load(state &+ offset) ?? 0
            guard case .shim(let outermost) = layout.boundary else { return frame == 0 ? nil : frame }
            for _ in 0..<Self.maximumFrames where frame != 0 {
                guard let owner: UInt8 = memory.load(frame &+ layout.owner), owner < outermost else { break }
                frame = memory.load(frame &+ layout.previous) ?? 0
            }
            return frame == 0 ? nil : frame
        }
    }
}
