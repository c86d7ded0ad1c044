internal import Synchronization

/// Whether a thread that is watched from outside is known to be a loop, or has turned out not to be one.
///
/// The preloaded library watches a thread from its first wait on an epoll instance, and lagmond reports its stalls once it is
/// known to be a loop. The same applies here to a thread other than the main thread that has an instance of its own: most workers
/// of a server rest there from the start, and their first stall may be their first work.
// Unchecked: only the sampling thread uses the properties that are not atomic.
final class Candidacy: @unchecked Sendable {
    /// As many as a thread needs to be found by its waits alone.
    private static let rests = 3
    /// Waits within less time may be those of one job.
    private static let nanoseconds: UInt64 = 500_000_000

    private let confirmed: Atomic<Bool>
    /// -1: it has not left.
    private let left = Atomic<Int32>(-1)
    private let job: RestPlaceFinder.Job?
    private var count = 0
    private var runs: UInt64?
    private var firstNanoseconds: UInt64?

    /// - Parameters:
    ///   - isConfirmed: whether it is known to be a loop.
    ///   - job: what the thread does if it was seen to rest in `accept`: then its loop is a job's.
    init(isConfirmed: Bool, job: RestPlaceFinder.Job?) {
        confirmed = Atomic(isConfirmed)
        self.job = job
    }

    /// Once true, always true. Any thread.
    var isConfirmed: Bool { confirmed.load(ordering: .relaxed) }

    /// The listening socket at which the thread rests: what it has done since its last wait does not belong to a loop. Any thread.
    var restsAt: Int32? {
        let listener = left.load(ordering: .relaxed)
        return listener < 0 ? nil : listener
    }

    /// Call it when the thread was found in its wait.
    /// - Parameter runs: how often it has got a processor so far: another number means another wait.
    func recordRest(runs now: UInt64, at time: UInt64) {
        guard !isConfirmed, runs != now else { return }
        runs = now
        count += 1
        let first = firstNanoseconds ?? time
        firstNanoseconds = first
        if count >= Self.rests, time >= first &+ Self.nanoseconds { confirmed.store(true, ordering: .relaxed) }
    }

    /// Whether the thread has left what looked like its loop, because it rests in `accept`, and waits there for its next job. A loop
    /// that has rested often or for long, and blocks in `accept`, stalls.
    /// - Parameters:
    ///   - listener: the socket.
    ///   - isProved: whether the loop has rested often or for long, and what it waits on still exists.
    ///   - isAccepting: whether the loop waits for connections there, too.
    func leaves(at listener: Int32, isProved: @autoclosure () -> Bool, isAccepting: () -> Bool) -> Bool {
        guard listener == job?.listener || !isProved(), !isAccepting() else { return false }
        left.store(listener, ordering: .relaxed)
        return true
    }
}
