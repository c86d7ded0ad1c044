/// The time from the beginning of a stall to its first sample, and who gets it.
///
/// Of a short stall that is a third and more. Given to the first sample alone, it makes whatever was going on in that very moment the
/// stall's greatest part: a call of a hundredth of the time is the cause once in a hundred stalls. So the first samples share it, as
/// long as they find the thread awake; who sleeps is measured, and slept before it was sampled.
///
/// The samples are few enough that none of their stacks has made room for another.
struct UnsampledStart {
    /// More, and a call that ended soon after the first sample would lose what was its own.
    private static let mostSamples = 4

    private let nanoseconds: UInt64
    private var isOver = false
    private var count = 0
    /// The stacks of the samples that share it.
    private var indexes = (0, 0, 0, 0)

    init(nanoseconds: UInt64 = 0) { self.nanoseconds = nanoseconds }

    /// One more sample, of which the stack has its weight already, the first one's with all of this time.
    ///
    /// - Parameters:
    ///   - index: its place in `stacks`.
    ///   - isAwake: the sample found the thread running.
    mutating func share(with index: Int, isAwake: Bool, _ stacks: UnsafeMutablePointer<TalliedStack>) {
        guard !isOver else { return }
        if count > 0, isAwake {
            let taken = nanoseconds / UInt64(count) - nanoseconds / UInt64(count + 1)
            var number = 0
            while number < count {
                // Of some nanoseconds not each has a share.
                let part = min(taken, stacks[self[number]].weightNanoseconds)
                stacks[self[number]].weightNanoseconds -= part
                stacks[index].weightNanoseconds += part
                number += 1
            }
        }
        self[count] = index
        count += 1
        isOver = !isAwake || count == Self.mostSamples
    }

    private subscript(number: Int) -> Int {
        get {
            switch number {
            case 0: indexes.0
            case 1: indexes.1
            case 2: indexes.2
            default: indexes.3
            }
        }
        set {
            switch number {
            case 0: indexes.0 = newValue
            case 1: indexes.1 = newValue
            case 2: indexes.2 = newValue
            default: indexes.3 = newValue
            }
        }
    }
}
