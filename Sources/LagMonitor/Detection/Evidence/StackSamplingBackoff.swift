/// The gap between samples of a stalled thread's stack: a fraction of the stall's age, so that no sample after the first
/// represents more than that fraction of the stall. A thread that hangs is soon sampled rarely; one that moves is followed more
/// closely.
///
/// (Matrix, the monitor of WeChat, doubles the gap while the stack is the same. Then the last sample represents half of the
/// stall, and what the thread does a tenth of the time is reported as its only activity in one stall of ten.)
struct StackSamplingBackoff: Sendable, Equatable {
    /// The first gap: short enough to see the parts of a stall of a few times the default threshold.
    static let firstNanoseconds: UInt64 = 25_000_000
    /// The longest gap: a sample of a thread that has hung for hours still shows what it does now.
    static let longestNanoseconds: UInt64 = 10_000_000_000
    /// The longest gap while the stack changes. A busy hang is sampled rarely, too.
    static let longestChangingNanoseconds: UInt64 = 1_000_000_000

    private static let agePart: UInt64 = 16
    private static let changingAgePart: UInt64 = 64

    private(set) var gapNanoseconds = StackSamplingBackoff.firstNanoseconds

    /// Records a sample.
    /// - Parameters:
    ///   - isSame: the stack is the same as in the sample before.
    ///   - age: how long the stall has lasted.
    mutating func record(isSame: Bool, age: UInt64) {
        let (part, longest) =
            isSame ? (age / Self.agePart, Self.longestNanoseconds) : (age / Self.changingAgePart, Self.longestChangingNanoseconds)
        gapNanoseconds = min(max(part, Self.firstNanoseconds), longest)
    }

    /// The gap, longer or shorter by up to a quarter.
    func gap(_ random: UInt64) -> UInt64 { gapNanoseconds / 4 * 3 + random % (gapNanoseconds / 2 + 1) }
}
