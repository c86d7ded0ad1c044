internal import CLagLinux
internal import CLagRemote
internal import Glibc
internal import Synchronization

extension LoopExaminer {
    /// Longer than an examination, unless that waits for memory of its process.
    private static let mostAttempts = 5
    private static let attemptMicroseconds: UInt32 = 100

    /// For threads other than the loop's own watchdog: a process whose memory cannot be read at present must not stop the
    /// examinations of others. Waits for half a millisecond at most.
    /// - Returns: nil: another thread still holds the lock.
    func tryState<Result>(_ body: (inout State) -> Result) -> Result? {
        for attempt in 0..<Self.mostAttempts {
            if attempt > 0 { usleep(Self.attemptMicroseconds) }
            if let result = state.withLockIfAvailable({ body(&$0) }) { return result }
        }
        return nil
    }

    /// Call it when the loop's object was read. What was found about the threads that use another one does not apply to it. (Two
    /// sets cannot be distinguished.)
    static func setObject(_ object: WaitObject, of state: inout State) {
        if state.object?.epoll != object.epoll {
            state.otherWaiter = (false, 0, 0)
            state.acceptor = nil
            state.sharedNanoseconds = nil
        }
        state.object = object
    }

    /// Call it when the thread was found asleep in a call while at work. It is skipped during another thread's examination.
    func recordCall(_ call: cll_thread_syscall) {
        var call = call
        state.withLockIfAvailable { state in resolve(&call, &state) }
    }

    /// Replaces a call that the kernel restarts after a stop by what it was.
    func resolve(_ call: inout cll_thread_syscall, _ state: inout State) {
        clr_restarted(&call, &state.lastCall)
        state.lastCall = call
    }
}
