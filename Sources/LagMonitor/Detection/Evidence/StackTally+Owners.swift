package import CLagLinux
internal import CLibunwind
package import LagCapture
internal import LagModel

/// What the thread of a stack waits for, and the holder.
extension StackTally {
    package func owner(_ number: Int, of index: Int) -> TalliedOwner { owners[index * Self.ownerCapacity + number] }

    package func frame(_ number: Int, ofOwner owner: Int, of index: Int) -> FrameBuffer.Frame {
        FrameBuffer.Frame(framesOfOwners[(index * Self.ownerStacks + owner) * Self.ownerFrames + number])
    }

    /// Records what the thread of a stack waits for.
    package func describe(_ index: Int, _ wait: cll_wait, _ lock: cll_lock, cycle: Int?) {
        let isSame = stacks[index].lock.owner == lock.owner && stacks[index].lock.address == lock.address
        stacks[index].ownerTries = isSame ? stacks[index].ownerTries &+ 1 : 1
        stacks[index].wait = wait
        stacks[index].lock = lock
        stacks[index].cycle = cycle ?? -1
        stacks[index].owners = 0
    }

    /// Counts the time since the last examination for the lock's present holder. If the owner changes, the one that held it for
    /// more than half of the time is kept in the end (Boyer and Moore's majority vote).
    /// - Parameters:
    ///   - isOther: another owner than the kept one.
    ///   - isFirst: none is kept.
    /// - Returns: whether the present owner is to be kept instead.
    package func voteForOwner(of index: Int, isOther: Bool, isFirst: Bool = false) -> Bool {
        let (votes, weight) = (stacks[index].ownerVotes.nanoseconds, stacks[index].weightNanoseconds)
        let gained = weight.saturatingDifference(stacks[index].ownerVotes.weight)
        if isFirst {
            stacks[index].ownerVotes = (gained, weight)
            return true
        }
        guard isOther else {
            stacks[index].ownerVotes = (votes.saturatingSum(gained), weight)
            return false
        }
        stacks[index].ownerVotes = (gained > votes ? gained - votes : votes - gained, weight)
        return gained > votes
    }

    /// Adds the next thread of the chain of owners, with its stack if it is one of the first.
    package func add(_ owner: TalliedOwner, _ stack: FrameBuffer, to index: Int) {
        let number = stacks[index].owners
        guard number < Self.ownerCapacity else { return }
        var outcome = owner.outcome
        outcome.stored = 0
        if number < Self.ownerStacks {
            let place = framesOfOwners + (index * Self.ownerStacks + number) * Self.ownerFrames
            outcome.stored = stack.copy(min(owner.outcome.stored, Self.ownerFrames), to: place)
        }
        (owners + index * Self.ownerCapacity + number)
            .initialize(to: TalliedOwner(tid: owner.tid, lock: owner.lock, outcome: outcome, name: owner.name))
        stacks[index].owners = number + 1
    }

    /// The stall ended while they were sampled: their stacks may be from later.
    package func forgetOwners(_ index: Int) {
        stacks[index].owners = 0
        stacks[index].lock.owner = 0
        stacks[index].cycle = -1
    }
}
