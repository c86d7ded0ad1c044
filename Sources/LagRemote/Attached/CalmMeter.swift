/// Whether a loop at rest is woken so seldom that recording its switches costs it next to nothing: then the beginning of its next stretch of work is
/// known exactly, also where that sleeps. Values in, values out.
struct CalmMeter: Sendable {
    private(set) var isCalm = false
    private var last: (runs: UInt64, nanoseconds: UInt64)?
    private var calmSamples = 0

    /// So often, at 1.1 µs each: 0.03 % of a processor at most.
    private static let mostRunsPerSecond: UInt64 = 250
    /// What comes at once is no pattern.
    private static let spareRuns: UInt64 = 2
    private static let samplesToBelieve = 4

    /// The loop was seen at rest.
    /// - Parameter runs: how often it was given a processor so far.
    mutating func recordRest(runs: UInt64, at now: UInt64) {
        defer { last = (runs, now) }
        guard let last, now > last.nanoseconds else { return }
        let most = (now - last.nanoseconds) / (1_000_000_000 / Self.mostRunsPerSecond) + Self.spareRuns
        calmSamples = runs &- last.runs <= most ? min(calmSamples + 1, Self.samplesToBelieve) : 0
        // It stays recorded until it is busy.
        isCalm = calmSamples == Self.samplesToBelieve || (isCalm && calmSamples > 0)
    }
}
