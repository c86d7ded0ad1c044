/// How far apart the samples of a stalled thread's stack are: the same stack again lengthens the gap, another one shortens it to what
/// it was at first. A thread that hangs is soon left alone; one that moves is followed.
///
/// (Matrix, the monitor of WeChat, calls this annealing.)
struct StackSamplingBackoff: Sendable, Equatable {
    /// The first gap: short enough to see the parts of a stall of a few times the default threshold.
    static let firstNanoseconds: UInt64 = 50_000_000
    /// The longest: a sample of a thread that has hung for hours still shows what it does now.
    static let longestNanoseconds: UInt64 = 10_000_000_000

    /// A busy hang is left alone, too: after `age / 64` at the earliest, at the latest after this.
    static let longestFirstNanoseconds: UInt64 = 1_000_000_000

    private(set) var gapNanoseconds = StackSamplingBackoff.firstNanoseconds

    /// Records a sample.
    /// - Parameter age: how long the stall has lasted.
    mutating func record(isSame: Bool, age: UInt64) {
        let first = min(max(Self.firstNanoseconds, age / 64), Self.longestFirstNanoseconds)
        gapNanoseconds = isSame ? min(max(gapNanoseconds * 2, first), Self.longestNanoseconds) : first
    }

    /// The gap, longer or shorter by up to a quarter.
    func gap(_ random: UInt64) -> UInt64 { gapNanoseconds / 4 * 3 + random % (gapNanoseconds / 2 + 1) }
}
