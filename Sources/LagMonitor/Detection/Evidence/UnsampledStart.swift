/// The time from the beginning of a stall to its first sample, and who gets it.
///
/// Of a short stall that is a third and more. Given to the first sample alone, it makes whatever was going on in that very moment the
/// stall's greatest part: a call of a hundredth of the time is the cause once in a hundred stalls. So the first samples share it, as
/// long as they find the thread awake; who sleeps is measured, and slept before it was sampled.
///
/// The samples are few enough that none of their stacks has made room for another.
struct UnsampledStart {
    /// More, and a call that ended soon after the first sample would lose what was its own.
    private static let mostSamples: UInt64 = 4

    private let nanoseconds: UInt64
    private var isOver = false
    private var count: UInt64 = 0

    init(nanoseconds: UInt64 = 0) { self.nanoseconds = nanoseconds }

    /// One more sample, which its stack has been given already, the first one with all of this time.
    ///
    /// - Parameters:
    ///   - index: the stack's place among `stacks`, of which each has been counted once for each of its samples.
    ///   - isAwake: the sample found the thread running.
    mutating func share(with index: Int, isAwake: Bool, _ stacks: UnsafeMutableBufferPointer<TalliedStack>) {
        guard !isOver else { return }
        if count > 0, isAwake {
            let taken = nanoseconds / count - nanoseconds / (count + 1)
            var other = 0
            while other < stacks.count {
                // Of some nanoseconds not each has a share.
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
