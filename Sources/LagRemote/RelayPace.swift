/// When the relay of a shared loop table begins its next round. Pure: times are passed in (`CLOCK_MONOTONIC`, nanoseconds).
///
/// Any process that has the table can post to it without an end, or take the posts of others away. So rounds keep a distance, which grows where they
/// find nothing; and while loops are watched the relay comes round without a post. Honest loops answer once an interval of their watchdog: the
/// first round after a pause begins at once.
struct RelayPace {
    /// Between the beginnings of two rounds. An answer says itself when it was given, so a millisecond is no delay.
    static let shortestNanoseconds: UInt64 = 1_000_000
    /// After rounds that found nothing.
    static let longestNanoseconds: UInt64 = 16_000_000
    /// Where no post comes.
    static let checkNanoseconds: UInt64 = 1_000_000_000
    /// The same for a while after an answer came without its post: somebody takes them.
    static let suspiciousCheckNanoseconds: UInt64 = 20_000_000
    static let suspicionNanoseconds: UInt64 = 60_000_000_000

    private var begun: UInt64 = 0
    private var gap = Self.shortestNanoseconds
    private var wasWoken = true
    private var suspiciousUntil: UInt64 = 0

    /// A round that began then is over.
    mutating func recordRound(_ begun: UInt64, foundAnswers: Bool) {
        self.begun = begun
        gap = foundAnswers || !wasWoken ? Self.shortestNanoseconds : min(gap * 2, Self.longestNanoseconds)
        if foundAnswers, !wasWoken { suspiciousUntil = begun &+ Self.suspicionNanoseconds }
    }

    /// Until when a post is waited for.
    func deadline(isWatching: Bool, at now: UInt64) -> UInt64 {
        guard isWatching else { return .max }
        return now &+ (now < suspiciousUntil ? Self.suspiciousCheckNanoseconds : Self.checkNanoseconds)
    }

    /// The wait is over, by a post or by time.
    mutating func recordWake(_ wasWoken: Bool) { self.wasWoken = wasWoken }

    /// When the next round may begin; nil: at once.
    func pause(at now: UInt64) -> UInt64? { now &- begun >= gap ? nil : begun &+ gap }
}
