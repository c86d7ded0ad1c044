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
}
