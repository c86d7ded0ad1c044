/// The rule that the observer-and-semaphore watchdog applies to the ends of its waits. Pure.
///
/// Seed 000, line for line: a wait of 50 ms that timed out while the activity is `beforeSources` or `afterWaiting` adds one; the
/// third in a row reports and starts again at zero, so that one hang is reported every 150 ms; everything else sets to zero.
struct SemaphoreWatchdogRule: Sendable {
    static let intervalNanoseconds: Int64 = 50_000_000
    static let timeoutsNeeded = 3
    static let thresholdNanoseconds: UInt64 = 150_000_000

    /// Which activities count as work. Seed 000: these two, and nothing else. Seed 002 says that it was first tried with
    /// `beforeWaiting` too, because stalls there are missed otherwise, and that idle loops were reported then.
    let countsBeforeWaiting: Bool
    private var timeouts = 0

    init(countsBeforeWaiting: Bool) { self.countsBeforeWaiting = countsBeforeWaiting }

    enum Activity: UInt8, Sendable {
        case other
        case beforeSources
        case afterWaiting
        case beforeWaiting
    }

    /// A wait ended.
    /// - Returns: whether that gives a report.
    mutating func waitEnded(timedOut: Bool, activity: Activity) -> Bool {
        let isWorking =
            switch activity {
            case .beforeSources, .afterWaiting: true
            case .beforeWaiting: countsBeforeWaiting
            case .other: false
            }
        if timedOut, isWorking {
            timeouts += 1
            if timeouts < Self.timeoutsNeeded { return false }
            timeouts = 0
            return true
        }
        timeouts = 0
        return false
    }
}
