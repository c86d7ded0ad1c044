internal import LagCapture

/// The frames of PHP: from the innermost one to the first, in groups that one call of the virtual machine runs.
struct PHPStack {
    /// Deeper stacks lose their outer frames.
    private static let maximumFrames = 1024
    /// `ZEND_CALL_TOP` (`zend_compile.h`): the call of the virtual machine ends with this frame.
    private static let top: UInt32 = 1 << 17
    /// The stack lies in a chunk of the allocator's (`ZEND_MM_CHUNK_SIZE`), in which all pages can be read; outer frames lie lower.
    private static let chunkBytes: UInt64 = 2 << 20
    private static let prefetchedBytes: UInt64 = 16 * 1024

    let memory: MemoryCopy
    let layout: PHPLayout
    /// Of `zend_executor_globals`.
    let globals: UInt64

    /// Up to the first frame that leads nowhere. Has the functions copied as well.
    func groups() -> [[InterpretedCall]] {
        guard var place: UInt64 = memory.load(globals &+ layout.currentFrame), place != 0 else { return [] }
        let begin = max(place & ~(Self.chunkBytes - 1), place - min(place, Self.prefetchedBytes))
        let bytes = Int(clamping: place &- begin) + layout.frameBytes
        if !memory.holds(begin, bytes) { memory.prefetch(begin, bytes) }
        var groups: [[InterpretedCall]] = []
        var group: [InterpretedCall] = []
        for _ in 0..<Self.maximumFrames {
            guard place % 8 == 0, let instruction: UInt64 = memory.load(place &+ layout.frameInstruction),
                let function: UInt64 = memory.load(place &+ layout.frameFunction),
                let call: UInt32 = memory.load(place &+ layout.frameCall),
                let previous: UInt64 = memory.load(place &+ layout.framePrevious)
            else { break }
            // Of a call from C nothing but the caller is kept.
            if function != 0 {
                if !memory.holds(function, layout.functionBytes) { memory.prefetch(function, layout.functionBytes) }
                // While an exception is thrown the instruction is one of three in the global state (`exception_op`): where it was is not known then.
                let isThrowing = instruction >= globals && instruction - globals < layout.globalsBytes
                group.append(InterpretedCall(function: function, counter: isThrowing ? 0 : instruction))
                // A function of an extension that C has called is not run by the virtual machine.
                if call & Self.top != 0, memory.load(function, as: UInt8.self) == PHPFunction.user {
                    groups.append(group)
                    group = []
                }
            }
            guard previous != 0, previous != place else { break }
            place = previous
        }
        if !group.isEmpty { groups.append(group) }
        return groups
    }
}
