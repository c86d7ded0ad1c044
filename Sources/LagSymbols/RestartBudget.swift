/// How often a child that failed may be started anew.
struct RestartBudget: Sendable {
    /// So many failures within the window, and there is no other start until the oldest one is out of it.
    static let maximumFailures = 3
    static let windowNanoseconds: UInt64 = 60_000_000_000

    private var failures: [UInt64] = []

    func allowsStart(at now: UInt64) -> Bool { failures.count { Self.counts($0, at: now) } < Self.maximumFailures }

    mutating func recordFailure(at now: UInt64) {
        failures.removeAll { !Self.counts($0, at: now) }
        failures.append(now)
    }

    private static func counts(_ failure: UInt64, at now: UInt64) -> Bool { now < failure &+ windowNanoseconds }
}
