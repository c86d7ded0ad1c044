internal import CLagLinux
internal import CLibunwind
import Testing

@testable import LagCapture
@testable import LagDetection

/// The lock owners of a stack, which have stacks too.
struct StackTallyOwnerTests {
    private let tally = StackTally.small()
    private let start = StackTally.start

    private func owner(_ tid: Int32, frames: Int) -> TalliedOwner {
        TalliedOwner(tid: tid, lock: cll_lock(), outcome: .passive(frames), name: cll_name())
    }

    private func lock(of tid: Int32) -> cll_lock {
        var lock = cll_lock()
        (lock.owner, lock.address, lock.kind) = (tid, 0x1000, Int32(CLL_LOCK_MUTEX))
        return lock
    }

    @Test func `each stack has its own lock owners, up to a limit`() {
        tally.begin(at: start)
        let (first, second) = (tally.observe(1, 10).index, tally.observe(2, 20).index)
        tally.describe(first, cll_wait(), lock(of: 100), cycle: nil)
        tally.describe(second, cll_wait(), lock(of: 200), cycle: 0)
        for number in 0..<Int32(StackTally.ownerCapacity) {
            tally.add(owner(100 + number, frames: 1), .stack([UInt64(100 + number)]), to: first)
        }
        tally.add(owner(9, frames: 1), .stack([9]), to: first)
        let deep = (0..<60).map { UInt64(1000 + $0) }
        tally.add(owner(200, frames: 60), .stack(deep), to: second)
        #expect(tally[first].owners == StackTally.ownerCapacity && tally[first].cycle == -1)
        #expect(tally[second].owners == 1 && tally[second].cycle == 0)
        for number in 0..<StackTally.ownerCapacity {
            #expect(tally.owner(number, of: first).tid == Int32(100 + number))
            // The first ones have a stack.
            let stored = number < StackTally.ownerStacks ? 1 : 0
            #expect(tally.owner(number, of: first).outcome.stored == stored)
            if stored > 0 { #expect(tally.frame(0, ofOwner: number, of: first).pc == UInt64(100 + number)) }
        }
        #expect(tally.owner(0, of: second).outcome.stored == StackTally.ownerFrames)
        let kept = (0..<StackTally.ownerFrames).map { tally.frame($0, ofOwner: 0, of: second).pc }
        #expect(kept == Array(deep.prefix(StackTally.ownerFrames)))
        // Described again, it loses its earlier owners.
        tally.describe(first, cll_wait(), lock(of: 300), cycle: nil)
        #expect(tally[first].owners == 0 && tally[first].lock.owner == 300)
    }

    @Test(arguments: [
        // The owner of the lock at 100, 200, … ms: the one that held it most of the time is kept, whichever holds it at the end.
        ([1, 1, 1, 1, 2], 1), ([1, 2, 2, 2, 2], 2), ([1, 2, 1, 3, 1], 1), ([1, 2, 3, 3, 3, 3], 3),
    ]) func `of several owners the one that held the lock longest is kept`(owners: [Int], kept: Int) {
        tally.begin(at: start)
        var known = 0
        for (number, owner) in owners.enumerated() {
            let place = tally.observe(7, UInt64(number + 1) * 100)
            if tally.voteForOwner(of: place.index, isOther: owner != known, isFirst: place.isNew) { known = owner }
        }
        #expect(known == kept)
    }

    @Test func `a lock remains after its owners are forgotten`() {
        tally.begin(at: start)
        tally.observe(1, 10)
        tally.describe(0, cll_wait(), lock(of: 100), cycle: 0)
        tally.add(owner(100, frames: 1), .stack([5]), to: 0)
        tally.forgetOwners(0)
        #expect(tally[0].owners == 0 && tally[0].cycle == -1)
        #expect(tally[0].lock.owner == 0 && tally[0].lock.address == 0x1000)
    }

    @Test func `a copy is equal and independent`() {
        tally.begin(at: start)
        tally.observe(1, 10)
        tally.observe(2, 30)
        tally.describe(1, cll_wait(), lock(of: 100), cycle: 0)
        tally.add(owner(100, frames: 2), .stack([5, 6]), to: 1)
        tally.recordFailure(.failed(.loopMovedOn))
        let copy = StackTally.small()
        copy.begin(at: 0)
        _ = copy.add(.passive(), .stack([77]), key: 77, at: 5)
        copy.copy(tally)
        #expect(copy.weights == tally.weights && copy.count == 2 && copy.sampleCount == 3)
        #expect(copy.failure.failure == .loopMovedOn && copy.lostNanoseconds == 0)
        #expect(copy.frame(0, of: 1).pc == 2)
        #expect(copy[1].owners == 1 && copy[1].cycle == 0 && copy.owner(0, of: 1).tid == 100)
        #expect((0..<2).map { copy.frame($0, ofOwner: 0, of: 1).pc } == [5, 6])
        // It knows its last sample.
        copy.close(at: start + 40 * millisecond)
        #expect(copy.weights == [1: 10, 2: 30] && tally.weights == [1: 10, 2: 20])
        #expect(copy.observe(2, 50).isSame)
    }
}
