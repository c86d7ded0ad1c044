internal import LagWorkload
internal import TestSupport

/// All stalls of one run: a pure function of seed, condition and size.
struct InjectionPlan: Sendable {
    let stalls: [PlannedStall]

    /// Every kind that stalls: all except `short` and `idle`.
    static let kinds: [WorkloadKind] = [.cpu, .sleep, .read, .lock, .io, .network, .child, .format, .hang, .starve]

    /// The full form: kinds in shuffled rounds, so that each occurs equally often.
    init(seed: UInt64, condition: Condition, count: Int) {
        var random = SeededGenerator(seed: seed, condition: condition, purpose: 0)
        var round: [WorkloadKind] = []
        stalls = (0..<count).map { _ in
            if round.isEmpty { round = Self.kinds.shuffled(using: &random) }
            let kind = round.removeLast()
            return PlannedStall(
                kind: kind,
                place: kind == .starve ? .perform : Self.place(&random),
                lengthMilliseconds: Self.length(kind, &random),
                gapMilliseconds: Double.random(in: 60...300, using: &random)
            )
        }
    }

    /// The short form: few stalls. The five conditions together contain every kind, every place, and stalls on both sides of the
    /// threshold.
    ///
    /// If the target is stopped, stalls are longer, so that some exceed the threshold without that time.
    init(shortFor condition: Condition, seed: UInt64) {
        var random = SeededGenerator(seed: seed, condition: condition, purpose: 0)
        let others = Self.kinds.filter { $0 != .starve }
        let first = 4 * (Condition.allCases.firstIndex(of: condition) ?? 0)
        let scale: Double = condition == .stopped ? 1.8 : 1
        var stalls = (0..<4).map { index in
            PlannedStall(
                kind: others[(first + index) % others.count],
                place: Place.allCases[(first + index) % Place.allCases.count],
                lengthMilliseconds: index == 0
                    ? Double.random(in: 60...110, using: &random) : Double.random(in: 230...330, using: &random) * scale,
                gapMilliseconds: Double.random(in: 60...200, using: &random)
            )
        }
        // The longest kind: its threshold is a second.
        if condition == .calm || condition == .stopped {
            stalls.append(
                PlannedStall(kind: .starve, place: .perform, lengthMilliseconds: 1100 * scale, gapMilliseconds: 100)
            )
        }
        self.stalls = stalls
    }

    var plannedMilliseconds: Double { stalls.reduce(0) { $0 + $1.lengthMilliseconds + $1.gapMilliseconds } }

    /// Two of three durations are log-uniform from 20 ms to 3 s, one of three is near the threshold.
    private static func length(_ kind: WorkloadKind, _ random: inout SeededGenerator) -> Double {
        let isNear = Int.random(in: 0..<3, using: &random) == 0
        if kind == .starve {
            return isNear ? Double.random(in: 900...1200, using: &random) : random.logUniform(300...3000)
        }
        return isNear ? Double.random(in: 110...260, using: &random) : random.logUniform(20...3000)
    }

    /// Of twenty places: eight timers, four pieces of work, three sources, two blocks, three observers.
    private static func place(_ random: inout SeededGenerator) -> Place {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: .timer
        case 8..<12: .perform
        case 12..<15: .source
        case 15..<17: .mainQueue
        default: .beforeWaiting
        }
    }
}
