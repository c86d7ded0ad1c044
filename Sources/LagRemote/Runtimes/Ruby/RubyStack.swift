internal import LagCapture

/// The frames of a Ruby thread: from the innermost one to the first, in groups that one call of the virtual machine runs.
struct RubyStack {
    /// Deeper stacks lose their outer frames.
    private static let maximumFrames = 3072
    /// The number of frames between two checks of the time.
    private static let framesBetweenChecks = 64
    private static let maximumWords: UInt64 = 1 << 21
    /// Of the part of the stack that the frames' environments lie in.
    private static let valueBytes: UInt64 = 224 * 1024
    /// `VM_FRAME_FLAG_FINISH` (`vm_core.h`): the call of the virtual machine ends with this frame.
    private static let finish: UInt64 = 0x20

    let memory: MemoryCopy
    let layout: RubyLayout

    /// The calls of Ruby's own functions, outermost first. Each fiber has a stack, and so other frames.
    func calls(of context: UInt64) -> [CallChain.Call]? {
        guard let (first, count, _) = frames(of: context), count <= Self.maximumFrames else { return nil }
        memory.prefetch(first, count * Int(layout.frameBytes))
        var calls: [CallChain.Call] = []
        for index in (0..<count).reversed() {
            let frame = first &+ UInt64(index) &* layout.frameBytes
            guard let sequence: UInt64 = memory.load(frame &+ layout.frameSequence) else { return nil }
            if sequence != 0 { calls.append(CallChain.call(frame: frame, code: sequence)) }
        }
        return calls
    }

    /// The innermost frame, how many there are, and where the stack begins; nil if the context is damaged.
    private func frames(of context: UInt64) -> (first: UInt64, count: Int, stack: UInt64)? {
        guard let stack: UInt64 = memory.load(context &+ layout.contextStack),
            let words: UInt64 = memory.load(context &+ layout.contextWords),
            let first: UInt64 = memory.load(context &+ layout.contextFrame), stack != 0, words <= Self.maximumWords, first > stack
        else { return nil }
        // The outermost frame does not belong to the program.
        let end = stack &+ words &* 8 &- layout.frameBytes
        guard first < end, (end - first) % layout.frameBytes == 0 else { return nil }
        return (first, Int((end - first) / layout.frameBytes), stack)
    }

    /// Copies the data for ``groups(of:)`` while the thread is stopped.
    func copy(of context: UInt64) {
        guard let (first, all, stack) = frames(of: context) else { return }
        memory.prefetch(first, min(all, Self.maximumFrames) * Int(layout.frameBytes))
        guard let top: UInt64 = memory.load(first &+ layout.frameStackPointer), top > stack, top <= first else { return }
        let begin = max(stack, top - min(top, Self.valueBytes))
        memory.prefetch(begin, Int(top - begin))
        // An environment that became an object, as that of the program itself mostly does, is elsewhere.
        let count = min(all, Self.maximumFrames)
        let outer = max(0, count - Self.framesBetweenChecks)
        func copyEnvironments(of frames: Range<Int>) {
            let places = frames.compactMap { index -> UInt64? in
                let place = first &+ UInt64(index) &* layout.frameBytes
                guard let environment: UInt64 = memory.load(place &+ layout.frameEnvironment) else { return nil }
                return environment < begin || environment >= top ? environment : nil
            }
            memory.prefetch(places, 8)
        }
        copyEnvironments(of: outer..<count)
        for index in stride(from: 0, to: outer, by: Self.framesBetweenChecks) {
            guard memory.mayLookOn else { return }
            copyEnvironments(of: index..<min(index + Self.framesBetweenChecks, outer))
        }
    }

    /// Whether the innermost call is one of Ruby's, and not of a function in C.
    func isInRuby(_ context: UInt64) -> Bool {
        guard let (first, _, _) = frames(of: context), let counter: UInt64 = memory.load(first &+ layout.frameCounter) else {
            return false
        }
        return counter != 0
    }

    /// Empty if the context is damaged. Incomplete: the outermost frames are missing.
    func groups(of context: UInt64) -> (calls: [[InterpretedCall]], isWhole: Bool) {
        guard let (first, all, _) = frames(of: context) else { return ([], false) }
        let count = min(all, Self.maximumFrames)
        var groups: [[InterpretedCall]] = []
        var group: [InterpretedCall] = []
        var isWhole = count == all
        for index in 0..<count {
            let place = first &+ UInt64(index) &* layout.frameBytes
            guard let counter: UInt64 = memory.load(place &+ layout.frameCounter),
                let sequence: UInt64 = memory.load(place &+ layout.frameSequence),
                let environment: UInt64 = memory.load(place &+ layout.frameEnvironment),
                let flags: UInt64 = memory.load(environment)
            else {
                isWhole = false
                break
            }
            // A function in C has neither.
            if counter != 0, sequence != 0 { group.append(InterpretedCall(function: sequence, counter: counter)) }
            if flags & Self.finish != 0 {
                groups.append(group)
                group = []
            }
        }
        if !group.isEmpty { groups.append(group) }
        return (groups, isWhole)
    }
}
