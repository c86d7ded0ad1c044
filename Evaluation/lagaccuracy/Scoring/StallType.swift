/// The kind of stall: one long callback, or many callbacks that keep the loop from sleeping.
enum StallType: String, Sendable, CaseIterable {
    case callout
    case starvation

    /// The duration from which it is a stall.
    var thresholdNanoseconds: UInt64 {
        switch self {
        case .callout: 150_000_000
        case .starvation: 1_000_000_000
        }
    }
}
