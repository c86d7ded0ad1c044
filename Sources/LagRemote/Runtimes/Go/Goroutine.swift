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
        /// `g.atomicstatus` and `g.goid` up to Go 1.22; both 8 bytes further on from 1.23 on (`g.syscallbp`).
        static let status: UInt64 = 144
        static let number: UInt64 = 152
    }

    /// Of it, what is read.
    static let bytes = 168

    /// `_Grunning`, `_Gsyscall`, `_Gwaiting`; the collector may look at it meanwhile (`_Gscan`).
    private static let states: Set<UInt32> = [2, 3, 4, 0x1002, 0x1003, 0x1004]
    /// The heap lies above; a goroutine's number is its place among all that there ever were.
    private static let lowestHeapAddress: UInt64 = 1 << 32

    private enum Limit {
        /// Of the thread's own stack: what waits there for the goroutine is some functions of the runtime's.
        static let searchedBytes: UInt64 = 4096
        /// Below the stack pointer.
        static let leftBytes: UInt64 = 512
        static let candidates = 64
        static let found = 4
        static let stackBytes: UInt64 = 32 * 1024
    }

    let address: UInt64
    let programCounter: UInt64
    let stackPointer: UInt64
    private let low, high: UInt64

    /// Nil where there is none: each has its own address in its place to go on at.
    init?(_ memory: MemoryCopy, at address: UInt64) {
        guard address != 0, address % 8 == 0, memory.load(address &+ Field.itself) == address,
            let low: UInt64 = memory.load(address &+ Field.low), let high: UInt64 = memory.load(address &+ Field.high),
            low < high,
            let stackPointer: UInt64 = memory.load(address &+ Field.stackPointer),
            let programCounter: UInt64 = memory.load(address &+ Field.programCounter)
        else { return nil }
        self.address = address
        self.programCounter = programCounter
        self.stackPointer = stackPointer
        (self.low, self.high) = (low, high)
    }

    /// `goid`, as Go's own traces have it; nil: not certain. Where it is, is seen by what lies around it: before it the state, behind it 0 or an address.
    func number(_ memory: MemoryCopy) -> UInt32? {
        guard let behind: UInt64 = memory.load(address &+ Field.number &+ 8) else { return nil }
        // Of an old one that is 0 or the next one in a list, of a new one the number.
        let isOld = behind == 0 || behind >= Self.lowestHeapAddress
        let place = Field.number + (isOld ? 0 : 8)
        guard let state: UInt32 = memory.load(address &+ place &- 8), Self.states.contains(state),
            let number: UInt64 = memory.load(address &+ place), number > 0, number < Self.lowestHeapAddress
        else { return nil }
        return UInt32(number)
    }

    /// Whether the place to go on at lies within its stack; of one that runs there may be none.
    var canGoOn: Bool { owns(stackPointer) }

    /// Behind its stack.
    var stackEnd: UInt64 { high }

    /// Of its stack, where it goes on within it.
    var usedBytes: UInt64 { high &- stackPointer }

    /// Whether one can be there: those with a number are made on the heap.
    static func isPlace(_ address: UInt64) -> Bool { address % 8 == 0 && address >= lowestHeapAddress && address < 1 << 47 }

    /// A thread has one for its own stack, too.
    func owns(_ address: UInt64) -> Bool { address >= low && address < high }

    /// Those that a thread refers to, each once, which copies them: by the register that has it in Go's code; of a thread that sleeps, on its stack.
    static func referred(by thread: RuntimeThread, _ memory: MemoryCopy) -> [Goroutine] {
        // From Go 1.17 on its code has the goroutine in this register.
        if let address = thread.registers.r14 { return found(in: [address], memory) }
        // One that is held has no time for more.
        guard thread.registers.framePointer == nil else { return [] }
        let begin = (thread.registers.stackPointer &+ 7) & ~7
        return found(in: words(from: begin, to: begin &+ Limit.searchedBytes, memory), memory)
    }

    /// The one on whose stack a thread is; a thread's own stack has one without a number, which is none. In a call of the kernel what was called before has left it below the stack pointer.
    static func running(_ thread: RuntimeThread, _ memory: MemoryCopy) -> Goroutine? {
        let isOwn = { (goroutine: Goroutine) in
            goroutine.owns(thread.registers.stackPointer) && goroutine.number(memory) != nil
        }
        return referred(by: thread, memory).first(where: isOwn) ?? left(by: thread, memory).first(where: isOwn)
    }

    /// The only other one that a thread refers to, which sleeps on a stack of its own.
    static func parked(_ thread: RuntimeThread, _ memory: MemoryCopy) -> Goroutine? {
        let others = referred(by: thread, memory).filter { $0.canGoOn && !$0.owns(thread.registers.stackPointer) }
        return others.count == 1 ? others[0] : nil
    }

    /// What may be return addresses, next to the stack pointer of a thread that sleeps.
    static func innermostWords(of thread: RuntimeThread, _ memory: MemoryCopy) -> [UInt64] {
        let begin = (thread.registers.stackPointer &+ 7) & ~7
        return words(from: begin, to: begin &+ Limit.leftBytes, memory)
    }

    /// Copies those that a sleeping thread refers to, and the stacks of those that it will go on with.
    static func copyReferred(by thread: RuntimeThread, _ memory: MemoryCopy) {
        for goroutine in referred(by: thread, memory) where goroutine.canGoOn { goroutine.copyStack(memory) }
        _ = left(by: thread, memory)
    }

    /// The part of its stack that it will go on with.
    func copyStack(_ memory: MemoryCopy) { memory.prefetch(stackPointer, Int(min(usedBytes, Limit.stackBytes))) }

    private static func left(by thread: RuntimeThread, _ memory: MemoryCopy) -> [Goroutine] {
        guard thread.registers.framePointer == nil else { return [] }
        let end = (thread.registers.stackPointer &+ 7) & ~7
        let begin = end &- min(end, Limit.leftBytes)
        if !memory.holds(begin, Int(Limit.leftBytes)) { memory.prefetch(begin, Int(Limit.leftBytes)) }
        return found(in: words(from: begin, to: end, memory), memory)
    }

    /// Those that are in the copy, or can be. (Up to 512 of them at each sample: a chain of lazy sequences took a quarter of the watchdog's time.)
    private static func words(from begin: UInt64, to end: UInt64, _ memory: MemoryCopy) -> [UInt64] {
        var words: [UInt64] = []
        var address = begin
        while address < end, memory.holds(address, 8), let word: UInt64 = memory.load(address) {
            words.append(word)
            address &+= 8
        }
        return words
    }

    private static func found(in words: [UInt64], _ memory: MemoryCopy) -> [Goroutine] {
        var known: Set<UInt64> = []
        var found: [Goroutine] = []
        for address in words where address % 8 == 0 && address > 1 << 16 && address < 1 << 47 {
            guard known.count < Limit.candidates, found.count < Limit.found else { break }
            guard known.insert(address).inserted else { continue }
            if !memory.holds(address, bytes) { memory.prefetch(address, bytes) }
            if let goroutine = Goroutine(memory, at: address) { found.append(goroutine) }
        }
        return found
    }
}
