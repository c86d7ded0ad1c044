/// Decides when the relay of a shared loop table begins its next round. Pure: times are passed in (`CLOCK_MONOTONIC`,
/// nanoseconds).
///
/// Any process with the table can post to it endlessly, or consume the posts of others. So rounds have a minimum distance, which
/// grows if they find nothing; and while loops are watched, the relay makes rounds without a post. Honest loops answer once per
/// interval of their watchdog: the first round after a pause begins at once.
struct RelayPace {
    /// Why a wait ended.
    enum Wake {
        case post
        /// It was time to check whether an answer came without a post.
        case check
        /// A time that the relay has set itself (``TurnFilter``).
        case appointment
    }

    /// The distance between the beginnings of two rounds. An answer has its own timestamp, so a millisecond does no harm.
    static let shortestNanoseconds: UInt64 = 1_000_000
    /// After rounds that found nothing.
    static let longestNanoseconds: UInt64 = 16_000_000
    /// The distance without posts.
    static let checkNanoseconds: UInt64 = 1_000_000_000
    /// The same for a while after an answer arrived without its post, because another process consumes posts.
    static let suspiciousCheckNanoseconds: UInt64 = 20_000_000
    static let suspicionNanoseconds: UInt64 = 60_000_000_000

    private var begun: UInt64 = 0
    private var gap = Self.shortestNanoseconds
    private var wake = Wake.post
    private var suspiciousUntil: UInt64 = 0

    /// Call it when a round that began then is over.
    mutating func recordRound(_ begun: UInt64, foundAnswers: Bool) {
        self.begun = begun
        gap = foundAnswers || wake != .post ? Self.shortestNanoseconds : min(gap * 2, Self.longestNanoseconds)
        if foundAnswers, wake == .check { suspiciousUntil = begun &+ Self.suspicionNanoseconds }
    }

    /// Until when to wait for a post.
    func deadline(isWatching: Bool, at now: UInt64) -> UInt64 {
        guard isWatching else { return .max }
        return now &+ (now < suspiciousUntil ? Self.suspiciousCheckNanoseconds : Self.checkNanoseconds)
    }

    /// Call it when the wait ended.
    mutating func recordWake(_ wake: Wake) { self.wake = wake }

    /// When the next round may begin; nil: at once.
    func pause(at now: UInt64) -> UInt64? { now &- begun >= gap ? nil : begun &+ gap }
}
