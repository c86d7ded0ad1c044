/// Limits how often a failed child is restarted.
struct RestartBudget: Sendable {
    /// After this many failures within the window, there is no restart until the oldest one is outside it.
    static let maximumFailures = 3
    static let windowNanoseconds: UInt64 = 60_000_000_000

    private var failures: [UInt64] = []
    var hasFailed: Bool { !failures.isEmpty }

    func allowsStart(at now: UInt64) -> Bool { failures.count { Self.counts($0, at: now) } < Self.maximumFailures }

    mutating func recordFailure(at now: UInt64) {
        failures.removeAll { !Self.counts($0, at: now) }
        failures.append(now)
    }

    private static func counts(_ failure: UInt64, at now: UInt64) -> Bool { now < failure &+ windowNanoseconds }
}
