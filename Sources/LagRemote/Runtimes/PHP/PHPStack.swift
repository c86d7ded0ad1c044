internal import LagCapture

/// The frames of PHP: from the innermost one to the first, in groups that one call of the virtual machine runs.
struct PHPStack {
    /// Deeper stacks lose their outer frames.
    private static let maximumFrames = 1024
    /// The number of frames between two checks of the time.
    private static let framesBetweenChecks = 64
    /// `ZEND_CALL_TOP` (`zend_compile.h`): the call of the virtual machine ends with this frame.
    private static let top: UInt32 = 1 << 17
    /// The stack is in a chunk of the allocator (`ZEND_MM_CHUNK_SIZE`), in which all pages are readable; outer frames are at
    /// lower addresses.
    private static let chunkBytes: UInt64 = 2 << 20
    private static let prefetchedBytes: UInt64 = 16 * 1024
    /// The limit for a whole stack.
    private static let maximumDelegations = 64

    let memory: MemoryCopy
    let layout: PHPLayout
    /// Of `zend_executor_globals`.
    let globals: UInt64
    /// Of the thread; nil: not known.
    var registers: RuntimeRegisters?

    /// The calls for ``CallChain``, outermost first: those of the program's own functions, which do not nest on the C stack. Nil
    /// if there are too many.
    func chain() -> [CallChain.Call]? {
        var calls: [CallChain.Call] = []
        guard var place: UInt64 = memory.load(globals &+ layout.currentFrame) else { return nil }
        prefetch(below: place)
        for _ in 0..<Self.maximumFrames {
            guard place != 0 else { return calls.reversed() }
            guard place % 8 == 0, let function: UInt64 = memory.load(place &+ layout.frameFunction),
                let previous: UInt64 = memory.load(place &+ layout.framePrevious), previous != place
            else { return nil }
            if function != 0 {
                guard let kind: UInt8 = memory.load(function) else { return nil }
                if kind == PHPFunction.user { calls.append(CallChain.call(frame: place, code: function)) }
            }
            place = previous
        }
        return nil
    }

    /// Copies the data for ``groups()`` while the thread is stopped. Copies the functions of some frames before the next frames:
    /// without them no frame has a name.
    func copy() {
        guard var place: UInt64 = memory.load(globals &+ layout.currentFrame), place != 0 else { return }
        var functions: [UInt64] = []
        var known: Set<UInt64> = [0]
        var delegations = Self.maximumDelegations
        func copyFunctions() {
            memory.prefetch(functions, layout.functionBytes)
            functions.removeAll(keepingCapacity: true)
        }
        for index in 0..<Self.maximumFrames {
            if index > 0, index % Self.framesBetweenChecks == 0 {
                copyFunctions()
                guard memory.mayLookOn else { return }
            }
            if !memory.holds(place, layout.frameBytes) { prefetch(below: place) }
            guard place % 8 == 0, let function: UInt64 = memory.load(place &+ layout.frameFunction),
                let previous: UInt64 = memory.load(place &+ layout.framePrevious)
            else { break }
            if known.insert(function).inserted { functions.append(function) }
            if function == 0, isPlaceholder(place) {
                // Ends before frames without names are collected.
                copyFunctions()
                let frames = delegating(at: place, &delegations)
                memory.prefetch(frames, layout.frameBytes)
                for frame in frames {
                    guard let function: UInt64 = memory.load(frame &+ layout.frameFunction) else { continue }
                    if known.insert(function).inserted { functions.append(function) }
                }
            }
            guard previous != 0, previous != place else { break }
            place = previous
        }
        copyFunctions()
    }

    /// Up to the first invalid frame.
    func groups() -> [[InterpretedCall]] {
        guard var place: UInt64 = memory.load(globals &+ layout.currentFrame), place != 0 else { return [] }
        var groups: [[InterpretedCall]] = []
        var group: [InterpretedCall] = []
        var delegations = Self.maximumDelegations
        for _ in 0..<Self.maximumFrames {
            guard place % 8 == 0, let instruction: UInt64 = memory.load(place &+ layout.frameInstruction),
                let function: UInt64 = memory.load(place &+ layout.frameFunction),
                let call: UInt32 = memory.load(place &+ layout.frameCall),
                let previous: UInt64 = memory.load(place &+ layout.framePrevious)
            else { break }
            // For a call from C, only the caller is kept.
            if function != 0 {
                // While an exception is thrown, the instruction is one of three in the global state (`exception_op`): the
                // original position is not known.
                let isThrowing = instruction >= globals && instruction - globals < layout.globalsBytes
                var counter = isThrowing ? 0 : instruction
                if groups.isEmpty, group.isEmpty { counter = innermostCounter(at: place, function, written: counter) }
                group.append(InterpretedCall(function: function, counter: counter))
                // The virtual machine does not run an extension's function that C has called.
                if call & Self.top != 0, memory.load(function, as: UInt8.self) == PHPFunction.user {
                    groups.append(group)
                    group = []
                }
            } else {
                let calls = delegating(at: place, &delegations).compactMap { frame -> InterpretedCall? in
                    guard let counter: UInt64 = memory.load(frame &+ layout.frameInstruction),
                        let function: UInt64 = memory.load(frame &+ layout.frameFunction), function != 0
                    else { return nil }
                    return InterpretedCall(function: function, counter: counter)
                }
                if group.isEmpty, !groups.isEmpty { groups[groups.count - 1] += calls } else { group += calls }
            }
            guard previous != 0, previous != place else { break }
            place = previous
        }
        if !group.isEmpty { groups.append(group) }
        return groups
    }

    /// The frames of generators that delegate to another one (`yield from`), innermost first. The running one is not linked to
    /// them, but to a placeholder in the
    /// outermost (`execute_fake`; `zend_generator_check_placeholder_frame` of `zend_generators.c`).
    private func delegating(at place: UInt64, _ left: inout Int) -> [UInt64] {
        guard isPlaceholder(place) else { return [] }
        var generator = place &- layout.generatorPlaceholder
        var frames: [UInt64] = []
        while left > 0 {
            left -= 1
            if !memory.holds(generator, layout.generatorBytes) {
                guard memory.mayLookOn else { break }
                memory.prefetch(generator, layout.generatorBytes)
            }
            guard let parent: UInt64 = memory.load(generator &+ layout.generatorParent), parent != 0, parent % 8 == 0,
                let frame: UInt64 = memory.load(generator &+ layout.generatorFrame), frame != 0, frame % 8 == 0
            else { break }
            frames.append(frame)
            generator = parent
        }
        return frames.reversed()
    }

    private func isPlaceholder(_ place: UInt64) -> Bool {
        memory.load(place &+ layout.frameObject) == place &- layout.generatorPlaceholder
    }

    /// Outer frames are at lower addresses.
    private func prefetch(below place: UInt64) {
        let begin = max(place & ~(Self.chunkBytes - 1), place - min(place, Self.prefetchedBytes))
        let bytes = Int(clamping: place &- begin) + layout.frameBytes
        if !memory.holds(begin, bytes) { memory.prefetch(begin, bytes) }
    }

    /// Before a call each frame has its instruction in memory. In the innermost one, the virtual machine stores it only
    /// before operations that may fail; until then, that place has the value of an earlier call, of the same function or of
    /// another one. GCC's builds for x86-64 have the frame in `r14` and the instruction in `r15` (`ZEND_VM_FP_GLOBAL_REG`,
    /// `ZEND_VM_IP_GLOBAL_REG` of `zend_execute.c`). C functions preserve both registers, or use them for other values,
    /// which do not match the frame.
    /// - Returns: 0: not known.
    private func innermostCounter(at place: UInt64, _ function: UInt64, written: UInt64) -> UInt64 {
        guard let registers, let found = PHPFunction(layout, at: function, read: { memory.bytes($0, $1).map { [UInt8]($0) } }),
            found.isUsers
        else { return written }
        if registers.r14 == place, let running = registers.r15, running != 0, found.position(of: running) != nil {
            return running
        }
        return found.position(of: written) == nil ? 0 : written
    }
}
