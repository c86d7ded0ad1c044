internal import LagCapture
internal import LagModel

/// A goroutine that has called C, on the stack of its thread.
///
/// `runtime.asmcgocall` (`src/runtime/asm_amd64.s` of Go 1.18 to 1.24) leaves the goroutine's stack for the thread's own.
/// There it keeps which goroutine that was, and in the word below how much of its stack was in use, to find back if that is
/// moved meanwhile. The goroutine's place to go on at says the same: a pair that agrees with it is of this call, and no
/// leftover of an earlier one.
struct CallOfC {
    /// From its stack pointer on: where the word is depends on the release.
    private static let searchedWords: UInt64 = 6
    private static let wordBytes: UInt64 = 8
    /// Of a goroutine's stack: Go ends a program that needs more.
    private static let maximumDepth: UInt64 = 1 << 30
    /// Pairs that may be one; each takes a read.
    private static let maximumCandidates = 4

    private struct Pair {
        let depth: UInt64
        let goroutine: UInt64

        /// Nil where it cannot be one.
        init?(depth: UInt64, goroutine: UInt64) {
            guard depth > 0, depth % CallOfC.wordBytes == 0, depth <= CallOfC.maximumDepth,
                Goroutine.isPlace(goroutine)
            else { return nil }
            self.depth = depth
            self.goroutine = goroutine
        }

        /// Whether the goroutine says so, too.
        func found(_ memory: MemoryCopy) -> Goroutine? {
            if !memory.holds(goroutine, Goroutine.bytes) { memory.prefetch(goroutine, Goroutine.bytes) }
            guard let found = Goroutine(memory, at: goroutine), found.canGoOn, found.usedBytes == depth else { return nil }
            return found
        }
    }

    /// The one whose call is at a stack pointer, of `runtime.asmcgocall` itself.
    static func goroutine(at stackPointer: UInt64, _ memory: MemoryCopy) -> Goroutine? {
        for word in 0..<searchedWords {
            let place = stackPointer &+ word &* wordBytes
            guard let depth: UInt64 = memory.load(place), let goroutine: UInt64 = memory.load(place &+ wordBytes) else {
                return nil
            }
            if let found = Pair(depth: depth, goroutine: goroutine)?.found(memory), !found.owns(stackPointer) { return found }
        }
        return nil
    }

    /// The one whose call a thread is in, by its stack: the innermost, where C calls Go again. It is copied. The thread may
    /// be held meanwhile: each word is looked at once, and most need one comparison.
    /// - Parameter code: Go's. What may be its return address is before the pair.
    static func goroutine(of thread: RuntimeThread, code: Range<UInt64>, _ memory: MemoryCopy) -> Goroutine? {
        guard let (begin, stack) = memory.stack else { return nil }
        let stackPointer = thread.registers.stackPointer
        func word(_ offset: Int) -> UInt64 { UInt64(littleEndian: stack.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
        let size = code.upperBound &- code.lowerBound
        let end = stack.count - Int((searchedWords + 1) * wordBytes)
        var offset = Int(clamping: stackPointer.saturatingDifference(begin)) & ~7
        var candidates = 0
        while offset < end {
            defer { offset += 8 }
            guard word(offset) &- code.lowerBound < size else { continue }
            for next in 1...Int(searchedWords) {
                let place = offset + next * 8
                guard place + 16 <= stack.count, let pair = Pair(depth: word(place), goroutine: word(place + 8)) else { continue }
                if let found = pair.found(memory), !found.owns(stackPointer) { return found }
                candidates += 1
                guard candidates < maximumCandidates else { return nil }
            }
        }
        return nil
    }
}
