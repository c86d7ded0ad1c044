/// The rule that the observer-and-semaphore watchdog applies when a wait ends. Pure.
///
/// If a wait of 50 ms times out while the activity is `beforeSources` or `afterWaiting`, the rule adds one. At the third in a row
/// it reports and starts again at zero, so that a hang is reported every 150 ms. Otherwise it sets the count to zero.
struct SemaphoreWatchdogRule: Sendable {
    static let intervalNanoseconds: Int64 = 50_000_000
    static let timeoutsNeeded = 3
    static let thresholdNanoseconds: UInt64 = 150_000_000

    /// Whether `beforeWaiting` also counts as work. The original rule counts only the two activities, and misses stalls in
    /// `beforeWaiting`. With it, the rule reports idle loops.
    let countsBeforeWaiting: Bool
    private var timeouts = 0

    init(countsBeforeWaiting: Bool) { self.countsBeforeWaiting = countsBeforeWaiting }

    enum Activity: UInt8, Sendable {
        case other
        case beforeSources
        case afterWaiting
        case beforeWaiting
    }

    /// Called when a wait has ended.
    /// - Returns: whether the rule reports a stall.
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
