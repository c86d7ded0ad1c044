internal import LagCapture

/// A goroutine that its thread has left for the thread's own stack: where it will go on.
///
/// Format: `src/runtime/runtime2.go` (`g`, `gobuf`) of Go 1.18 to 1.24.
struct Goroutine {
    private enum Field {
        /// `g.stack`.
        static let low: UInt64 = 0
        static let high: UInt64 = 8
        /// `g.sched`.
        static let stackPointer: UInt64 = 56
        static let programCounter: UInt64 = 64
        static let itself: UInt64 = 72
        static let end = 80
    }

    private enum Limit {
        /// Of the thread's own stack: what waits there for the goroutine is some functions of the runtime's.
        static let searchedBytes: UInt64 = 4096
        static let candidates = 64
        static let found = 4
        static let stackBytes: UInt64 = 32 * 1024
    }

    let programCounter: UInt64
    let stackPointer: UInt64
    private let low, high: UInt64

    /// Nil where there is none: each has its own address in its place to go on at, which lies within its stack.
    init?(_ memory: MemoryCopy, at address: UInt64) {
        guard address != 0, address % 8 == 0, memory.load(address &+ Field.itself) == address,
            let low: UInt64 = memory.load(address &+ Field.low), let high: UInt64 = memory.load(address &+ Field.high),
            let stackPointer: UInt64 = memory.load(address &+ Field.stackPointer), stackPointer >= low, stackPointer < high,
            let programCounter: UInt64 = memory.load(address &+ Field.programCounter)
        else { return nil }
        self.programCounter = programCounter
        self.stackPointer = stackPointer
        (self.low, self.high) = (low, high)
    }

    /// A thread has one for its own stack, too.
    func owns(_ address: UInt64) -> Bool { address >= low && address < high }

    /// Copies those that a sleeping thread's own stack refers to, with their stacks.
    static func copyReferred(by thread: RuntimeThread, _ memory: MemoryCopy) {
        var known: Set<UInt64> = []
        var found = 0
        var place = (thread.registers.stackPointer &+ 7) & ~7
        let end = place &+ Limit.searchedBytes
        while place < end, known.count < Limit.candidates, found < Limit.found, memory.holds(place, 8), memory.hasRoom {
            defer { place &+= 8 }
            guard let address: UInt64 = memory.load(place), address % 8 == 0, address > 1 << 16, address < 1 << 47,
                known.insert(address).inserted
            else { continue }
            memory.prefetch(address, Field.end)
            guard let goroutine = Goroutine(memory, at: address) else { continue }
            found += 1
            memory.prefetch(
                goroutine.stackPointer,
                Int(min(goroutine.high - goroutine.stackPointer, Limit.stackBytes))
            )
        }
    }
}
