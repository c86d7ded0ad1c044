internal import LagCapture

/// A goroutine that its thread has left for the thread's own stack, with the place where it will continue.
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
        /// `g.atomicstatus` and `g.goid` up to Go 1.22; both are 8 bytes later from 1.23 on (`g.syscallbp`).
        static let status: UInt64 = 144
        static let number: UInt64 = 152
    }

    /// The part that is read.
    static let bytes = 168

    /// `_Grunning`, `_Gsyscall`, `_Gwaiting`; the collector may scan it meanwhile (`_Gscan`).
    private static let states: Set<UInt32> = [2, 3, 4, 0x1002, 0x1003, 0x1004]
    /// The heap is above this; a goroutine's ID counts all goroutines ever created.
    private static let lowestHeapAddress: UInt64 = 1 << 32

    private enum Limit {
        /// The searched part of the thread's own stack: only some functions of the runtime are there.
        static let searchedBytes: UInt64 = 4096
        /// Below the stack pointer.
        static let leftBytes: UInt64 = 512
        static let candidates = 64
        static let found = 4
        static let stackBytes: UInt64 = 32 * 1024
        /// `runtime.newstack` has 432 in Go 1.19.
        static let frameBytes: UInt64 = 512
        /// The record, the return address, and what `runtime.mcall` has stored.
        static let recordBytes: UInt64 = 24
        static let namedAtOnce = 16
    }

    let address: UInt64
    let programCounter: UInt64
    let stackPointer: UInt64
    private let low, high: UInt64

    /// Nil if there is none: each has its own address in its saved context.
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

    /// `goid`, as in Go's own traces; nil: not certain. Its offset is recognised by its neighbours: before it the state, after it
    /// 0 or an address.
    func number(_ memory: MemoryCopy) -> UInt32? {
        guard let behind: UInt64 = memory.load(address &+ Field.number &+ 8) else { return nil }
        // In an old release that is 0 or the next one in a list, in a new one the ID.
        let isOld = behind == 0 || behind >= Self.lowestHeapAddress
        let place = Field.number + (isOld ? 0 : 8)
        guard let state: UInt32 = memory.load(address &+ place &- 8), Self.states.contains(state),
            let number: UInt64 = memory.load(address &+ place), number > 0, number < Self.lowestHeapAddress
        else { return nil }
        return UInt32(number)
    }

    /// Whether the saved place is within its stack; a running goroutine may have none.
    var canGoOn: Bool { owns(stackPointer) }

    /// Behind its stack.
    var stackEnd: UInt64 { high }

    /// Its stack, if it continues within it.
    var usedBytes: UInt64 { high &- stackPointer }

    /// Whether one can be at this address: those with an ID are on the heap.
    static func isPlace(_ address: UInt64) -> Bool { address % 8 == 0 && address >= lowestHeapAddress && address < 1 << 47 }

    /// A thread also has one for its own stack.
    func owns(_ address: UInt64) -> Bool { address >= low && address < high }

    /// The goroutines that a thread refers to, each once, and copies them: from the register that has it in Go's code; for a
    /// sleeping thread, from its stack.
    static func referred(by thread: RuntimeThread, _ memory: MemoryCopy) -> [Goroutine] {
        // From Go 1.17 on, its code has the goroutine in this register.
        if let address = thread.registers.r14 { return found(in: [address], memory) }
        // There is no time for more while the thread is stopped.
        guard thread.registers.framePointer == nil else { return [] }
        let begin = (thread.registers.stackPointer &+ 7) & ~7
        return found(in: words(from: begin, to: begin &+ Limit.searchedBytes, memory).filter(isPlace), memory)
    }

    /// The goroutine on whose stack a thread is; a thread's own stack has one without an ID, which does not count. In a system
    /// call, an earlier callee has left it below the stack pointer.
    static func running(_ thread: RuntimeThread, _ memory: MemoryCopy) -> Goroutine? {
        let isOwn = { (goroutine: Goroutine) in
            goroutine.owns(thread.registers.stackPointer) && goroutine.number(memory) != nil
        }
        return referred(by: thread, memory).first(where: isOwn) ?? left(by: thread, memory).first(where: isOwn)
    }

    /// The only other goroutine that a thread refers to and that sleeps on its own stack.
    static func parked(_ thread: RuntimeThread, _ memory: MemoryCopy) -> Goroutine? {
        let others = referred(by: thread, memory).filter { $0.canGoOn && !$0.owns(thread.registers.stackPointer) }
        return others.count == 1 ? others[0] : nil
    }

    /// Candidate return addresses near the stack pointer of a sleeping thread.
    static func innermostWords(of thread: RuntimeThread, _ memory: MemoryCopy) -> [UInt64] {
        let begin = (thread.registers.stackPointer &+ 7) & ~7
        return words(from: begin, to: begin &+ Limit.leftBytes, memory)
    }

    /// Copies the goroutines that a sleeping thread refers to, and the stacks of those that will continue.
    static func copyReferred(by thread: RuntimeThread, _ memory: MemoryCopy) {
        for goroutine in referred(by: thread, memory) where goroutine.canGoOn { goroutine.copyStack(memory) }
        _ = left(by: thread, memory)
    }

    /// Copies what a function's frame on the thread's own stack refers to, with one system call: `runtime.newstack` and
    /// what `runtime.mcall` has called have their goroutine there, and no register has it.
    /// - Parameters:
    ///   - record: its frame record.
    ///   - stackPointer: below it nothing belongs to the stack.
    /// - Returns: the goroutines among them.
    static func copyNamed(inFrameBefore record: UInt64, from stackPointer: UInt64, _ memory: MemoryCopy) -> [Goroutine] {
        let begin = max(record &- min(record, Limit.frameBytes), (stackPointer &+ 7) & ~7)
        let named = words(from: begin, to: record &+ Limit.recordBytes, memory)
        let places = Array(named.filter(isPlace).suffix(Limit.namedAtOnce))
        memory.prefetch(places, bytes)
        return places.compactMap { memory.holds($0, bytes) ? Goroutine(memory, at: $0) : nil }
    }

    /// A goroutine that was interrupted where it enters a function, such as a preempted one, has no record for it yet: the return
    /// address is below the record of the caller.
    static func copyBelow(_ record: UInt64, of goroutines: [Goroutine], _ memory: MemoryCopy) {
        guard let left = goroutines.first(where: { $0.owns(record) && $0.canGoOn }), left.stackPointer < record else { return }
        memory.prefetch(left.stackPointer, Int(min(record - left.stackPointer, Limit.stackBytes)))
    }

    /// The part of its stack where it will continue.
    func copyStack(_ memory: MemoryCopy) { memory.prefetch(stackPointer, Int(min(usedBytes, Limit.stackBytes))) }

    private static func left(by thread: RuntimeThread, _ memory: MemoryCopy) -> [Goroutine] {
        guard thread.registers.framePointer == nil else { return [] }
        let end = (thread.registers.stackPointer &+ 7) & ~7
        let begin = end &- min(end, Limit.leftBytes)
        if !memory.holds(begin, Int(Limit.leftBytes)) { memory.prefetch(begin, Int(Limit.leftBytes)) }
        return found(in: words(from: begin, to: end, memory), memory)
    }

    /// The words that are in the copy, or can be copied; up to 512. (At each sample, a chain of lazy sequences instead took a
    /// quarter of the watchdog's time.)
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
