/// How far apart the looks at a stalled thread's stack are: the same stack again lengthens the gap, another one shortens it to what
/// it was at first. A thread that hangs is soon left alone; one that moves is followed.
///
/// (Matrix, the monitor of WeChat, calls this annealing.)
struct Annealing: Sendable, Equatable {
    /// The first gap: short enough to see the parts of a stall of a few times the default threshold.
    static let firstNanoseconds: UInt64 = 50_000_000
    /// The longest: a look at a thread that has hung for hours still tells what it does now.
    static let longestNanoseconds: UInt64 = 10_000_000_000

    private(set) var gapNanoseconds = Annealing.firstNanoseconds

    /// Notes a look.
    mutating func note(isSame: Bool) {
        gapNanoseconds = isSame ? min(gapNanoseconds * 2, Self.longestNanoseconds) : Self.firstNanoseconds
    }
}
