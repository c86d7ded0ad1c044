internal import LagCapture

/// An instruction at which a stack's innermost function was found, and in how many samples.
struct TalliedLeaf {
    let pc: UInt64
    var count: UInt64
}

/// Where in their innermost functions stacks were found: functions that the compiler has inlined into one are at some of these
/// places and not at others.
extension StackTally {
    /// A stack at each of its places. Each place gets the same share of the time as of the samples: the first sample of a stall,
    /// which represents all the time before it, is no better evidence than another of where in a function the time goes. Samples
    /// whose place did not fit are distributed like the others. Allocates.
    package func stackAtLeaves(_ index: Int) -> [(stack: TalliedStack, pc: UInt64)] {
        let places = UnsafeBufferPointer(start: leaves + index * Self.leafCapacity, count: stacks[index].leaves)
        // The remainder of each number is for the places that come later.
        var (nanoseconds, count) = (stacks[index].weightNanoseconds, stacks[index].count)
        var left = places.reduce(0) { $0 + $1.count }
        return places.map { place in
            var stack = stacks[index]
            let share = Double(place.count) / Double(left)
            stack.weightNanoseconds = UInt64(Double(nanoseconds) * share)
            stack.count = UInt64((Double(count) * share).rounded())
            nanoseconds -= min(stack.weightNanoseconds, nanoseconds)
            count -= min(stack.count, count)
            left -= place.count
            return (stack, place.pc)
        }
    }

    /// Allocates nothing.
    func recordLeaf(of stack: FrameBuffer?, to index: Int) {
        guard let stack, stacks[index].outcome.stored > 0 else { return }
        let pc = stack[0].pc
        let places = leaves + index * Self.leafCapacity
        var number = 0
        while number < stacks[index].leaves {
            if places[number].pc == pc {
                places[number].count += 1
                return
            }
            number += 1
        }
        guard number < Self.leafCapacity else { return }
        (places + number).initialize(to: TalliedLeaf(pc: pc, count: 1))
        stacks[index].leaves = number + 1
    }
}
