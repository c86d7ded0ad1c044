/// The options of one invocation: the same for every condition, and passed on to the target.
struct RunOptions: Sendable {
    let seed: UInt64
    let count: Int
    let isShort: Bool
    let setsClock: Bool

    static let defaultSeed: UInt64 = 20_250_101
    static let defaultCount = 200

    func plan(for condition: Condition) -> InjectionPlan {
        isShort
            ? InjectionPlan(shortFor: condition, seed: seed) : InjectionPlan(seed: seed, condition: condition, count: count)
    }

    /// The target's command line.
    var arguments: [String] {
        ["--seed", "\(seed)", "--count", "\(count)"] + (isShort ? ["--short"] : []) + (setsClock ? ["--set-clock"] : [])
    }

    /// How long the target is stopped at a time, and how long it runs between two stops.
    var stopMilliseconds: ClosedRange<Double> { isShort ? 100...300 : 100...2000 }
    var stopGapMilliseconds: ClosedRange<Int64> { isShort ? 200...700 : 300...2500 }
}
