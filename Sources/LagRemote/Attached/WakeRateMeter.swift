/// Decides whether a resting loop is woken so seldom that recording its switches costs almost nothing: then the beginning of its
/// next stretch of work is known exactly, even if it sleeps. Pure.
struct WakeRateMeter: Sendable {
    private(set) var isCalm = false
    private var last: (runs: UInt64, nanoseconds: UInt64)?
    private var calmSamples = 0

    /// The limit per second: at 1.1 µs each, at most 0.03 % of a processor.
    private static let mostRunsPerSecond: UInt64 = 250
    /// Wake-ups in quick succession are not a pattern.
    private static let spareRuns: UInt64 = 2
    private static let samplesToBelieve = 4

    /// Call it when the loop was seen at rest.
    /// - Parameter runs: how often it has got a processor so far.
    mutating func recordRest(runs: UInt64, at now: UInt64) {
        defer { last = (runs, now) }
        guard let last, now > last.nanoseconds else { return }
        let most = (now - last.nanoseconds) / (1_000_000_000 / Self.mostRunsPerSecond) + Self.spareRuns
        calmSamples = runs &- last.runs <= most ? min(calmSamples + 1, Self.samplesToBelieve) : 0
        // Its switches are recorded until it is busy.
        isCalm = calmSamples == Self.samplesToBelieve || (isCalm && calmSamples > 0)
    }
}
