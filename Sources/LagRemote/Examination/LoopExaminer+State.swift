internal import Glibc
internal import Synchronization

extension LoopExaminer {
    /// Longer than an examination, unless that waits for memory of its process.
    private static let mostAttempts = 5
    private static let attemptMicroseconds: UInt32 = 100

    /// One process whose memory cannot be read at present must not stop the examinations of others.
    /// - Parameters:
    ///   - waits: true for the loop's own watchdog, which needs the result; other threads wait half a millisecond at most.
    ///   - body: holds the lock.
    /// - Returns: nil: another thread still holds the lock.
    func withState<Result>(waits: Bool, _ body: (inout State) -> Result) -> Result? {
        if waits { return state.withLock { body(&$0) } }
        for attempt in 0..<Self.mostAttempts {
            if attempt > 0 { usleep(Self.attemptMicroseconds) }
            if let result = state.withLockIfAvailable({ body(&$0) }) { return result }
        }
        return nil
    }
}
