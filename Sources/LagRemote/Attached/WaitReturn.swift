internal import CLagLinux
internal import LagModel

/// The return address of the call in which a loop waits, from a word on its stack.
///
/// When a process has a second thread, the C library's `poll` makes its system call at another instruction, with some more stack,
/// so that the thread can be cancelled in it. It is the same call if the same word is at the same place of the stack: any other
/// function that the loop's function calls leaves another word there. On ARM the word is in a register, and the stack pointer is
/// the same.
struct WaitReturn: Sendable {
    private let process: Int32
    private var stackPointer: UInt64 = 0
    /// The place's rank when the word was read: while it is low, the loop may not have been seen yet, but only a handler.
    private var rank = 0
    /// 0: not known.
    private var word: UInt64 = 0
    /// The word at the last rest: the thread may have continued before it was read.
    private var lastWord: UInt64 = 0

    init(process: Int32) { self.process = process }

    /// Call it when the loop rests there. Reads at two rests at a place, or until two in a row find the same word.
    /// - Parameter found: where it rests; a wait for fewer descriptors than the loop's may be a handler's.
    mutating func record(_ place: RestPlace, at found: RestPlace?) {
        let isElsewhere = place.stackPointer != stackPointer || place.rank != rank
        if isElsewhere { (stackPointer, rank, word, lastWord) = (place.stackPointer, place.rank, 0, 0) }
        guard word == 0, found?.rank == place.rank else { return }
        let now = read(stackPointer)
        word = now == lastWord ? now : 0
        lastWord = now
    }

    /// Whether the call that the thread sleeps in is the loop's, made at the other instruction.
    /// - Parameter place: the loop's place.
    func isLoops(_ found: RestPlace, at place: RestPlace) -> Bool {
        place.mayBeSameCall(as: found) && place.stackPointer == stackPointer && word != 0 && read(stackPointer) == word
    }

    /// Whether another call of the loop's function waits, for fewer descriptors: a compiler has put a handler into that function.
    ///
    /// Only for a process with one thread: otherwise the word may be what an earlier call has left there. Some 10 µs if the words
    /// differ.
    /// - Parameters:
    ///   - place: the loop's place.
    ///   - hasOneThread: whether the process has one thread.
    func isHandlers(
        _ found: RestPlace,
        at place: RestPlace,
        hasOneThread: (_ process: Int32) -> Bool = { ProcFile.numbers(in: "/proc/\($0)/task", limit: 2).count == 1 }
    ) -> Bool {
        #if arch(x86_64)
            guard found.isSame(as: place), found.epoll == nil, found.rank < place.rank, rank == place.rank, word != 0,
                found.stackPointer == stackPointer
            else { return false }
            let now = read(stackPointer)
            return now != 0 && now != word && hasOneThread(process)
        #else
            return false
        #endif
    }

    /// 0: it cannot be read.
    private func read(_ address: UInt64) -> UInt64 {
        var word: UInt64 = 0
        let length = withUnsafeMutableBytes(of: &word) { cll_memory_read(process, address, $0.baseAddress, $0.count) }
        return length == MemoryLayout<UInt64>.size ? word : 0
    }
}
