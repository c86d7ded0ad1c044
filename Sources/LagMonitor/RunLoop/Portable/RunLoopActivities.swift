public import LagActivity

/// The activities that an observer receives; the values are those of the original run loop.
public struct RunLoopActivities: OptionSet, Sendable, Hashable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A run of the loop begins.
    public static let entry = RunLoopActivities(rawValue: 1 << 0)
    /// Timers are about to be checked.
    public static let beforeTimers = RunLoopActivities(rawValue: 1 << 1)
    /// Manual sources are about to be performed.
    public static let beforeSources = RunLoopActivities(rawValue: 1 << 2)
    /// The loop is about to sleep.
    public static let beforeWaiting = RunLoopActivities(rawValue: 1 << 5)
    /// The loop has woken up.
    public static let afterWaiting = RunLoopActivities(rawValue: 1 << 6)
    /// A run of the loop ends.
    public static let exit = RunLoopActivities(rawValue: 1 << 7)
    /// Every activity.
    public static let all = RunLoopActivities(rawValue: 0x0FFF_FFFF)

    /// The mask of one activity; empty for states that are not activities of a run (`waiting`, `expected`, `notRunning`,
    /// `finished`).
    public init(_ activity: LoopActivity) {
        switch activity {
        case .entry: self = .entry
        case .beforeTimers: self = .beforeTimers
        case .beforeSources: self = .beforeSources
        case .beforeWaiting: self = .beforeWaiting
        case .afterWaiting: self = .afterWaiting
        case .exit: self = .exit
        case .notRunning, .waiting, .finished, .expected: self = []
        }
    }
}
