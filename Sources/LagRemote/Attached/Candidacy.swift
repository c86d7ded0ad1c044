internal import Synchronization

/// Whether a thread that is watched from outside is known to be a loop, or has turned out not to be one.
///
/// The preloaded library watches a thread from its first wait on an epoll instance, and lagmond reports its stalls once it is
/// known to be a loop. The same applies here to a thread other than the main thread that has an instance of its own: most workers
/// of a server rest there from the start, and their first stall may be their first work.
// Unchecked: only the sampling thread uses the properties that are not atomic.
final class Candidacy: @unchecked Sendable {
    /// Waits within less time may be those of one job (`LOOP_FEW_MS` of the preloaded library).
    private static let nanoseconds: UInt64 = 500_000_000
    /// An `accept` of this duration blocked (`LOOP_REST_MS` of the preloaded library).
    private static let acceptNanoseconds: UInt64 = 100_000_000

    private let confirmed: Atomic<Bool>
    /// -1: it has not left.
    private let left = Atomic<Int32>(-1)
    private let job: RestPlaceFinder.Job?
    private var count = 0
    private var runs: UInt64?
    private var firstNanoseconds: UInt64?
    /// The sleep in `accept` in progress: how often the thread had got a processor before, since when, and whether it has lasted.
    private var accept: (runs: UInt64, nanoseconds: UInt64, isLong: Bool)?

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
        guard count >= RestPlaceFinder.visitsOfHelper, time >= first &+ Self.nanoseconds else { return }
        confirmed.store(true, ordering: .relaxed)
    }

    /// Whether the thread has left what looked like its loop, because it rests in `accept`, and waits there for its next job. A
    /// loop that has rested often or for long, and blocks in `accept`, stalls, unless the thread rested at that socket before.
    /// Call it for each sample.
    /// - Parameters:
    ///   - listener: the socket; nil: the thread is not asleep in `accept`.
    ///   - runs: see ``recordRest(runs:at:)``.
    ///   - isProved: whether the loop has rested often or for long, and what it waits on still exists. Queried once for each sleep.
    ///   - isAccepting: whether the loop waits for connections there, too. Queried once for each sleep.
    func leaves(
        at listener: Int32?,
        runs: UInt64,
        at time: UInt64,
        isProved: @autoclosure () -> Bool,
        isAccepting: @autoclosure () -> Bool
    ) -> Bool {
        guard let listener else {
            accept = nil
            return false
        }
        let known = accept?.runs == runs ? accept : nil
        let (since, wasLong) = (known?.nanoseconds ?? time, known?.isLong ?? false)
        let isLong = time >= since &+ Self.acceptNanoseconds
        accept = (runs, since, isLong)
        guard isLong, !wasLong, listener == job?.listener || !isProved(), !isAccepting() else { return false }
        left.store(listener, ordering: .relaxed)
        return true
    }
}
