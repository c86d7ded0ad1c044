/// Decides whether a loop that has ended its rest wakes the watchdog of its process: not if it rests again within a millisecond,
/// as in a timer's callback of an idle server, because that is no beginning of a stall. Pure: times are passed in
/// (`CLOCK_MONOTONIC`, nanoseconds).
///
/// What a loop rests in is read by its watchdog: so a rest that lasts is visited a little later, and one of many short ones once a
/// second.
struct TurnFilter {
    enum Step: Equatable {
        case nothing
        /// The loop works: its watchdog times it from now on.
        case work
        /// The loop rests: its watchdog reads in what.
        case visit
    }

    /// A turn of this length is over before it matters.
    static let turnNanoseconds: UInt64 = 1_000_000
    /// A loop that turns more often is left to the ticks of its watchdog, because it would answer each time.
    static let distanceNanoseconds: UInt64 = 40_000_000
    /// A rest of this length is visited; longer than the time between two timer callbacks of most idle servers.
    static let restNanoseconds: UInt64 = 120_000_000
    /// The longest time without a visit while the loop turns.
    static let visitNanoseconds: UInt64 = 1_000_000_000

    /// When the turn began that may be a short one; nil: none.
    private var began: UInt64?
    private var filteredNanoseconds: UInt64 = 0
    private var visitedNanoseconds: UInt64
    /// When ``step(at:rests:)`` has to be called; `.max`: not before the next answer.
    private(set) var dueNanoseconds: UInt64 = .max

    /// - Parameter now: the loop's watchdog visits it.
    init(at now: UInt64) { visitedNanoseconds = now }

    /// Call it when the loop has answered, before ``step(at:rests:)``.
    /// - Parameters:
    ///   - answered: when.
    ///   - mayFilter: false: it is passed on. So is the answer of a loop whose stall is over.
    mutating func recordAnswer(at answered: UInt64, now: UInt64, mayFilter: Bool) {
        let isSeldom = now &- filteredNanoseconds >= Self.distanceNanoseconds
        // Otherwise the next step passes it on.
        began = mayFilter && isSeldom ? min(answered, now) : 0
        dueNanoseconds = now
    }

    /// - Parameter rests: whether the loop rests now, and will answer when it wakes.
    mutating func step(at now: UInt64, rests: () -> Bool) -> Step {
        guard now >= dueNanoseconds else { return .nothing }
        guard let began else {
            visit(at: now)
            return .visit
        }
        if began > 0, rests() {
            self.began = nil
            filteredNanoseconds = now
            dueNanoseconds = min(now &+ Self.restNanoseconds, max(now, visitedNanoseconds &+ Self.visitNanoseconds))
            return .nothing
        }
        let end = began &+ Self.turnNanoseconds
        guard now >= end else {
            dueNanoseconds = end
            return .nothing
        }
        visit(at: now)
        return .work
    }

    private mutating func visit(at now: UInt64) { (began, visitedNanoseconds, dueNanoseconds) = (nil, now, .max) }
}
