internal import LagCapture
internal import LagModel

/// A goroutine that has called C on the stack of its thread.
///
/// `runtime.asmcgocall` (`src/runtime/asm_amd64.s` of Go 1.18 to 1.24) leaves the goroutine's stack for the thread's own.
/// There it stores the goroutine, and in the word below how much of its stack was in use, to return even if the stack was
/// moved meanwhile. The goroutine's saved context must match: then the pair belongs to this call, and is not a
/// leftover of an earlier one.
struct CallOfC {
    /// Searched from its stack pointer on: the word's place depends on the release.
    private static let searchedWords: UInt64 = 6
    private static let wordBytes: UInt64 = 8
    /// The maximum of a goroutine's stack: Go aborts a program that needs more.
    private static let maximumDepth: UInt64 = 1 << 30
    /// The maximum of candidate pairs; each takes a read.
    private static let maximumCandidates = 4

    private struct Pair {
        let depth: UInt64
        let goroutine: UInt64

        /// Nil if it cannot be one.
        init?(depth: UInt64, goroutine: UInt64) {
            guard depth > 0, depth % CallOfC.wordBytes == 0, depth <= CallOfC.maximumDepth,
                Goroutine.isPlace(goroutine)
            else { return nil }
            self.depth = depth
            self.goroutine = goroutine
        }

        /// Whether the goroutine's own data matches.
        func found(_ memory: MemoryCopy) -> Goroutine? {
            if !memory.holds(goroutine, Goroutine.bytes) { memory.prefetch(goroutine, Goroutine.bytes) }
            guard let found = Goroutine(memory, at: goroutine), found.canGoOn, found.usedBytes == depth else { return nil }
            return found
        }
    }

    /// The goroutine whose call is at a stack pointer of `runtime.asmcgocall` itself.
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

    /// The goroutine whose call a thread is in, by its stack: the innermost one, if C calls Go again. It is copied. The thread
    /// may be stopped meanwhile: each word is read once, and most need one comparison.
    /// - Parameter code: Go's code. A candidate return address into it precedes the pair.
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
