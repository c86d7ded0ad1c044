internal import LagMonitor

/// When a command that ended is started again, and when no more: back-off with jitter, and a bound.
///
/// Pure: what time it is and the dice are told.
struct RestartRule: Sendable {
    struct Limits: Equatable, Sendable {
        /// Before the first start again; each further one waits twice as long.
        var firstDelay: Duration = .seconds(1)
        var longestDelay: Duration = .seconds(60)
        /// A command that ran for so long was well: the next wait is the first one again.
        var healthyAfter: Duration = .seconds(60)
        /// So many starts again within `window`, and no more.
        var count = 5
        var window: Duration = .seconds(600)
    }

    enum Decision: Equatable {
        case start(after: Duration)
        /// So many starts again were within the window.
        case giveUp
    }

    var limits: Limits
    private var doublings = 0
    private var starts: [MonotonicTime] = []

    init(_ limits: Limits) { self.limits = limits }

    /// - Parameters:
    ///   - now: when the command had ended.
    ///   - ranFor: how long it had run.
    ///   - randomFraction: from 0 up to 1. The wait is between half of what is due and all of it, so that what hung together does not come back together.
    mutating func decide(at now: MonotonicTime, ranFor: Duration, randomFraction: Double) -> Decision {
        if ranFor >= limits.healthyAfter { doublings = 0 }
        starts.removeAll { now - $0 >= limits.window }
        guard starts.count < limits.count else { return .giveUp }
        var due = limits.firstDelay
        for _ in 0..<doublings where due < limits.longestDelay { due = due * 2 }
        due = min(due, limits.longestDelay)
        doublings += 1
        starts.append(now)
        return .start(after: due * (0.5 + min(max(randomFraction, 0), 1) / 2))
    }
}
