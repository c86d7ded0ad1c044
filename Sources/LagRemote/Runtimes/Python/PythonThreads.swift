internal import LagModel

/// Finds CPython's state of a thread in the lists of interpreters and their threads, by the kernel's thread ID.
///
/// A thread may have a state in each of several interpreters. The lists are read while the process runs, so they may change
/// meanwhile: a result is checked, and checked again in the copy.
final class PythonThreads: Sendable {
    /// Interpreters of a process; one with more has a list that leads in a circle.
    private static let maximumInterpreters = 64
    /// Threads of all of them.
    private static let maximumThreads = 8192
    /// States whose threads are looked for in the process.
    private static let maximumNumbers = 8
    /// Frames that one call of the evaluation function may run before it is given up.
    private static let maximumFrames = 1024

    private let memory: RemoteMemory
    private let layout: PythonLayout
    private let runtime: UInt64
    private let known = PthreadMutex(Known())

    private struct Known {
        /// The results of the last search.
        var states: [Int32: UInt64] = [:]
        /// Threads without a state, until a new state is created.
        var absent: Set<Int32> = []
        var generation: UInt64 = 0
    }

    init(_ memory: RemoteMemory, _ layout: PythonLayout, runtime: UInt64) {
        self.memory = memory
        self.layout = layout
        self.runtime = runtime
    }

    /// The state in which the thread runs: of several with frames, the one with the innermost call.
    /// - Parameter tid: the thread ID in the process's own namespace.
    func state(of tid: Int32) -> UInt64? {
        if let known = known.withLock({ $0.states[tid] }), isListed(known, of: tid, ofOnlyInterpreter: true) { return known }
        let generation = generation(interpreters)
        let isAbsent = known.withLock { known in
            if known.generation != generation { (known.generation, known.absent) = (generation, []) }
            return known.absent.contains(tid)
        }
        if isAbsent { return nil }
        let (states, areWhole) = search(tid)
        let found = states.count > 1 ? running(states) ?? states[0] : states.first
        self.known.withLock { known in
            if known.states.count >= Self.maximumThreads { known.states.removeAll() }
            known.states[tid] = found
            if found == nil, areWhole, known.generation == generation, known.absent.count < Self.maximumThreads {
                known.absent.insert(tid)
            }
        }
        return found
    }

    /// Whether the lists have it as a state of that thread's.
    func holds(_ state: UInt64, of tid: Int32) -> Bool {
        known.withLock { $0.states[tid] } == state && isListed(state, of: tid) || search(tid).states.contains(state)
    }

    private var interpreters: [UInt64] {
        var found: [UInt64] = []
        var next: UInt64 = memory.load(runtime &+ layout.firstInterpreter) ?? 0
        while next != 0, found.count < Self.maximumInterpreters {
            found.append(next)
            next = memory.load(next &+ layout.nextInterpreter) ?? 0
        }
        return found
    }

    /// A number that changes with each new state: `next_unique_id` of each interpreter, before `head`, in all versions.
    private func generation(_ interpreters: [UInt64]) -> UInt64 {
        var hash = StableHash()
        for interpreter in interpreters {
            hash.combine(word: interpreter)
            hash.combine(word: memory.load(interpreter &+ layout.firstThread &- 8) ?? 0)
        }
        return hash.value
    }

    /// - Returns: also whether these are all: a state that is created meanwhile had no thread when this began. And if no state has
    ///   a thread of this process, it was forked, and a state may get its thread: by the kernel, when the process first gets a
    ///   processor, or by Python's own hook.
    private func search(_ tid: Int32) -> (states: [UInt64], areWhole: Bool) {
        var found: [UInt64] = []
        var left = Self.maximumThreads
        var areWhole = true
        var numbers: [Int32] = []
        for interpreter in interpreters {
            var thread = memory.load(interpreter &+ layout.firstThread, as: UInt64.self) ?? 0
            while thread != 0, left > 0 {
                left -= 1
                let number = layout.number(ofState: thread) { memory.load($0) }
                if number == nil { areWhole = false }
                if let number, numbers.count < Self.maximumNumbers { numbers.append(number) }
                if number == tid, memory.load(thread &+ layout.interpreter) == interpreter,
                    found.count < Self.maximumInterpreters
                {
                    found.append(thread)
                }
                thread = memory.load(thread &+ layout.nextThread) ?? 0
            }
        }
        guard found.isEmpty, areWhole, left > 0 else { return (found, areWhole && left > 0) }
        return (found, numbers.isEmpty || NamespaceThread.isLive(anyOf: numbers, process: memory.process))
    }

    /// Whether it is still in its list: a freed one keeps its old data. Two reads. False as well if it cannot be read at once.
    /// - Parameter ofOnlyInterpreter: whether there must be no other interpreter.
    private func isListed(_ state: UInt64, of tid: Int32, ofOnlyInterpreter: Bool = false) -> Bool {
        let first = runtime &+ layout.firstInterpreter
        let (number, descriptor) = (state &+ layout.nativeThread, layout.descriptorPlace(ofState: state))
        // `prev` lies before `next`, in all versions.
        let places = [first, state &+ layout.interpreter, state &+ layout.nextThread &- 8, number, descriptor]
        guard let found = memory.words(places), found[0] != 0, found[1] != 0 else { return false }
        let link = found[2] == 0 ? found[1] &+ layout.firstThread : found[2] &+ layout.nextThread
        var others = [found[0] &+ layout.nextInterpreter, link]
        if let offset = layout.descriptorNumber, found[4] != 0 { others.append(found[4] &+ offset) }
        guard let after = memory.words(others), after[1] == state, !ofOnlyInterpreter || after[0] == 0 else { return false }
        let owner = layout.number(ofState: state) { address in
            switch address {
            case number: found[3]
            case descriptor: found[4]
            default: after.last
            }
        }
        return owner == tid
    }

    /// Of the states with frames, the one with the lowest call on the stack.
    private func running(_ states: [UInt64]) -> UInt64? {
        states.compactMap { state in anchor(state).map { (state: state, anchor: $0) } }.min { $0.anchor < $1.anchor }?.state
    }

    /// The address of the innermost evaluation call's data on the C stack; nil: none runs.
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
