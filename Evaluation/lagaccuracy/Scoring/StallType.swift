/// Which of the two troubles: a callback that stands still, or many that do not let the loop sleep.
enum StallType: String, Sendable, CaseIterable {
    case callout
    case starvation

    /// From what duration on it is a stall.
    var thresholdNanoseconds: UInt64 {
        switch self {
        case .callout: 150_000_000
        case .starvation: 1_000_000_000
        }
    }
}
