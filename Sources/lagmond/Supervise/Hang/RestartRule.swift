internal import LagMonitor

/// When an ended command is restarted, and when lagmond gives up: back-off with jitter, and a limit.
///
/// Pure: the time and the random number are passed in.
struct RestartRule: Sendable {
    struct Limits: Equatable, Sendable {
        /// The wait before the first restart; each further wait is twice as long.
        var firstDelay: Duration = .seconds(1)
        var longestDelay: Duration = .seconds(60)
        /// A command that ran for this long was healthy: the next wait is ``firstDelay`` again.
        var healthyAfter: Duration = .seconds(60)
        /// The maximum number of restarts within `window`.
        var count = 5
        var window: Duration = .seconds(600)
    }

    enum Decision: Equatable {
        case start(after: Duration)
        /// The maximum number of restarts within the window was reached.
        case giveUp
    }

    var limits: Limits
    private var doublings = 0
    private var starts: [MonotonicTime] = []

    init(_ limits: Limits) { self.limits = limits }

    /// - Parameters:
    ///   - now: when the command had ended.
    ///   - ranFor: how long it had run.
    ///   - randomFraction: from 0 up to 1. The wait is between half of the delay and all of it, so that commands that hung
    ///     together do not restart together.
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
