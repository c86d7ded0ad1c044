internal import CLagLinux
internal import CLagRemote
internal import Synchronization

/// Where a polling loop sleeps, which polls with timeout 0 and is never found asleep in its wait: `select`, work, `usleep`, and
/// again.
///
/// It rests there. A sleep deeper in the stack belongs to a handler, which delays the loop's next poll. A start sleeps further
/// out only once or twice.
struct PausePlace {
    /// After this many consecutive iterations with a sleep there, it is the place.
    private static let turns = 3
    /// More than the difference between frames of the C library's sleep calls, less than the frame of a function that calls one
    /// of them for the loop.
    private static let callBytes: UInt64 = 128

    private var stackPointer: UInt64 = 0
    private var count = 0
    private var word: UInt64 = .max

    private var isKnown: Bool { count >= Self.turns }

    /// Call it when the thread slept there.
    /// - Parameter word: the beacon's word of that iteration.
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
    /// Call it when the loop iterates, and is at work. Takes some 3 µs for a loop that was never seen in its wait; nothing for
    /// others.
    /// - Parameters:
    ///   - word: the beacon's word of this iteration.
    ///   - isStillThere: whether it is still in that iteration.
    func recordTurn(word: UInt64, isStillThere: () -> Bool) {
        state.withLock { state in
            guard state.object == nil, !state.isRing, !state.isRefused else { return }
            var call = cll_thread_syscall()
            guard cll_procfs_syscall(process.pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED) else { return }
            resolve(&call, &state)
            guard Int(clr_call_use(process.pid, &call)) == CLR_CALL_SLEEPS, isStillThere() else { return }
            state.pause.record(call.sp, in: word)
        }
    }
}
