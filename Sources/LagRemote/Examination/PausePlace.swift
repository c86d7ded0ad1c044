internal import CLagLinux
internal import CLagRemote
internal import Synchronization

/// Where a loop sleeps between its looks, which asks with time-out 0 and is never found asleep in its wait: `select`, work, `usleep`, and again.
///
/// There it rests, by its own clock. A sleep further in is a handler's, which keeps the loop from its next look. What a start sleeps further out it does once or
/// twice.
struct PausePlace {
    /// So many turns in a row in which it slept there make it the place.
    private static let turns = 3
    /// More than the frames of the C library's calls that sleep differ by, less than those of a function that has called one of them for the loop.
    private static let callBytes: UInt64 = 128

    private var stackPointer: UInt64 = 0
    private var count = 0
    private var word: UInt64 = .max

    private var isKnown: Bool { count >= Self.turns }

    /// The thread slept there.
    /// - Parameter word: the beacon's word of that turn.
    mutating func record(_ stackPointer: UInt64, in word: UInt64) {
        guard word != self.word else { return }
        self.word = word
        let isFurtherIn = stackPointer &+ Self.callBytes < self.stackPointer
        let isFurtherOut = stackPointer > self.stackPointer &+ Self.callBytes
        if isFurtherOut || isFurtherIn && !isKnown {
            (self.stackPointer, count) = (stackPointer, 1)
        } else if !isFurtherIn {
            count += 1
        }
    }

    /// Whether a thread that sleeps there is in a handler.
    func isHandler(_ stackPointer: UInt64) -> Bool { isKnown && stackPointer &+ Self.callBytes < self.stackPointer }
}

extension LoopExaminer {
    /// The loop goes around, and is at work. Some 3 µs of one that was never seen in its wait; of others nothing.
    /// - Parameters:
    ///   - word: the beacon's word of this turn.
    ///   - isStillThere: whether it is still in that one.
    func recordTurn(word: UInt64, isStillThere: () -> Bool) {
        state.withLock { state in
            guard state.object == nil, !state.isRing, !state.isRefused else { return }
            var call = cll_thread_syscall()
            guard cll_procfs_syscall(process.pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED),
                Int(clr_call_use(process.pid, &call)) == CLR_CALL_SLEEPS, isStillThere()
            else { return }
            state.pause.record(call.sp, in: word)
        }
    }
}
