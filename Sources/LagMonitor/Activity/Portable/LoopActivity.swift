/// What an observed loop is doing: the six activities of a run loop, and the states around them.
///
/// The raw value is used in the beacon's word, ``name`` in a record.
public enum LoopActivity: UInt8, Sendable, CaseIterable {
    case notRunning = 0
    case entry = 1
    case beforeTimers = 2
    case beforeSources = 3
    /// The observers of `beforeWaiting` run. This is still work: an observer can stall its loop.
    case beforeWaiting = 4
    /// Asleep in the kernel, waiting for events.
    case waiting = 5
    case afterWaiting = 6
    case exit = 7
    /// The loop ended with its thread; its thread id is no longer valid.
    case finished = 8
    /// Inside a scope in which blocking is expected (``ActivityBeacon/expectingBlock(_:)``): no work waits for the loop.
    case expected = 9

    /// Whether staying in this activity counts as a stall.
    @inlinable public var isWorking: Bool { Self.isWorking(rawValue) }

    /// The same for a raw value; an unknown value does not count as work.
    @inlinable public static func isWorking(_ rawValue: UInt8) -> Bool {
        switch rawValue {
        case 0, 5: false  // not running, waiting
        default: rawValue < 8  // 8: finished, 9: expected
        }
    }

    /// The activity's name in a record: `before_sources`.
    public var name: String {
        switch self {
        case .notRunning: "not_running"
        case .entry: "entry"
        case .beforeTimers: "before_timers"
        case .beforeSources: "before_sources"
        case .beforeWaiting: "before_waiting"
        case .waiting: "waiting"
        case .afterWaiting: "after_waiting"
        case .exit: "exit"
        case .finished: "finished"
        case .expected: "expected"
        }
    }
}
