/// The time from the beginning of a stall to its first sample, and how it is distributed.
///
/// In a short stall this is a third and more. If the first sample got all of it, whatever was going on at that very moment would
/// be the stall's greatest part: a call of a hundredth of the time would be the cause once in a hundred stalls. So the first
/// samples share it, as long as they find the thread awake. Sleep is measured: a thread that sleeps slept before it was sampled.
///
/// The samples are so few that none of their stacks has been evicted.
struct UnsampledStart {
    /// With more, a call that ended soon after the first sample would lose its own time.
    private static let mostSamples: UInt64 = 4

    private let nanoseconds: UInt64
    private var isOver = false
    private var count: UInt64 = 0

    init(nanoseconds: UInt64 = 0) { self.nanoseconds = nanoseconds }

    /// Adds a sample. Its stack has its own time already; the first stack got all of this time.
    ///
    /// - Parameters:
    ///   - index: the stack's place among `stacks`, each of which has been counted once for each of its samples.
    ///   - isAwake: the sample found the thread running.
    mutating func share(with index: Int, isAwake: Bool, _ stacks: UnsafeMutableBufferPointer<TalliedStack>) {
        guard !isOver else { return }
        if count > 0, isAwake {
            let taken = nanoseconds / count - nanoseconds / (count + 1)
            var other = 0
            while other < stacks.count {
                // If it is only some nanoseconds, not each gets a share.
                let part = other == index ? 0 : min(taken * stacks[other].count, stacks[other].weightNanoseconds)
                stacks[other].weightNanoseconds -= part
                stacks[index].weightNanoseconds += part
                other += 1
            }
        }
        count += 1
        isOver = !isAwake || count == Self.mostSamples
    }
}
