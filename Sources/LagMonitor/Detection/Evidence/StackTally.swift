internal import CLagLinux
internal import CLibunwind
package import LagCapture
internal import LagModel

/// The stacks that were sampled in one stall, each with the time that it represents: memory that is allocated in advance.
///
/// A sample represents the time since the one before it; the last one also the time after it. (Not the time around it: the longer
/// the stack before was the same, the later a sample comes, so it would get more than its share.) If the thread slept at one of
/// two samples and was awake at the other, its sleep in between is known, and each gets its own part. The time before the first
/// sample is shared, see ``UnsampledStart``.
///
/// If there are more different stacks than places, the lightest is evicted; its time is in ``lostNanoseconds``.
package final class StackTally {
    /// Different stacks that are kept.
    package static let capacity = 12
    /// Owners of locks that are kept for each stack: all of the longest chain.
    package static let ownerCapacity = LockChain.maximumLength - 1
    /// For this many of them the stack is kept, too, with this many frames.
    package static let ownerStacks = 4
    package static let ownerFrames = 48

    private static let keptStacks = 2
    /// Different instructions kept of a stack's innermost function.
    package static let leafCapacity = 16
    /// Threads of a pool that are remembered.
    package static let workerCapacity = 256

    private let maximumFrames: Int
    private let memory: UnsafeMutableRawPointer
    let stacks: UnsafeMutablePointer<TalliedStack>
    let owners: UnsafeMutablePointer<TalliedOwner>
    private let frames: UnsafeMutablePointer<clu_frame>
    let framesOfOwners: UnsafeMutablePointer<clu_frame>
    let workers: UnsafeMutablePointer<TalliedWorker>
    let leaves: UnsafeMutablePointer<TalliedLeaf>

    package private(set) var count = 0
    /// Threads of a pool that were seen working.
    package internal(set) var workerCount = 0
    /// How often the thread was sampled, including failed samples.
    package internal(set) var sampleCount: UInt64 = 0
    /// Samples that found the thread collecting its language's garbage.
    package private(set) var collectingCount: UInt64 = 0
    package private(set) var lostNanoseconds: UInt64 = 0
    /// Time between consecutive samples that found the thread asleep at the same place.
    package private(set) var asleepNanoseconds: UInt64 = 0
    /// Why there is no stack at all.
    package private(set) var failure = CaptureOutcome.failed(.noFreeSlot)
    private var latest: Int?
    private var start = UnsampledStart()
    /// When the last sample was taken, or when the stall began.
    var latestNanoseconds: UInt64 = 0

    private static func bytes(_ maximumFrames: Int) -> Int {
        capacity * (MemoryLayout<TalliedStack>.stride + maximumFrames * MemoryLayout<clu_frame>.stride)
            + capacity * ownerCapacity * MemoryLayout<TalliedOwner>.stride
            + capacity * ownerStacks * ownerFrames * MemoryLayout<clu_frame>.stride
            + workerCapacity * MemoryLayout<TalliedWorker>.stride
            + capacity * leafCapacity * MemoryLayout<TalliedLeaf>.stride
    }

    /// Allocates its memory directly from the kernel; it becomes resident when it is used.
    package init?(maximumFrames: Int) {
        guard let memory = cll_memory_map(Self.bytes(maximumFrames)) else { return nil }
        self.maximumFrames = maximumFrames
        self.memory = memory
        stacks = memory.bindMemory(to: TalliedStack.self, capacity: Self.capacity)
        owners = UnsafeMutableRawPointer(stacks + Self.capacity)
            .bindMemory(to: TalliedOwner.self, capacity: Self.capacity * Self.ownerCapacity)
        frames = UnsafeMutableRawPointer(owners + Self.capacity * Self.ownerCapacity)
            .bindMemory(to: clu_frame.self, capacity: Self.capacity * maximumFrames)
        framesOfOwners = frames + Self.capacity * maximumFrames
        workers = UnsafeMutableRawPointer(framesOfOwners + Self.capacity * Self.ownerStacks * Self.ownerFrames)
            .bindMemory(to: TalliedWorker.self, capacity: Self.workerCapacity)
        leaves = UnsafeMutableRawPointer(workers + Self.workerCapacity)
            .bindMemory(to: TalliedLeaf.self, capacity: Self.capacity * Self.leafCapacity)
    }

    deinit { cll_memory_unmap(memory, Self.bytes(maximumFrames)) }

    /// Resets it for another stall, which began at that time.
    package func begin(at since: UInt64) {
        count = 0
        workerCount = 0
        sampleCount = 0
        collectingCount = 0
        lostNanoseconds = 0
        asleepNanoseconds = 0
        failure = .failed(.noFreeSlot)
        latest = nil
        start = UnsampledStart()
        latestNanoseconds = since
    }

    /// Returns the memory to the kernel, if it is more than most stalls need: the next stall should not have to wait for pages.
    package func release() { if count > Self.keptStacks { cll_memory_release(memory, Self.bytes(maximumFrames)) } }

    package subscript(index: Int) -> TalliedStack {
        precondition(index >= 0 && index < count, "stack \(index) of \(count)")
        return stacks[index]
    }

    package func frame(_ number: Int, of index: Int) -> FrameBuffer.Frame {
        FrameBuffer.Frame(frames[index * maximumFrames + number])
    }

    /// A sample without a stack, and the reason.
    package func recordFailure(_ failure: CaptureOutcome) {
        sampleCount += 1
        self.failure = failure
    }

    /// A sample with a stack, or (`nil`) one that only shows that the thread sleeps. Allocates nothing.
    /// - Parameter slept: how long the thread slept since the sample before; nil: not known.
    /// - Returns: where it is kept, whether it is the same as the one before, and whether it is there for the first time.
    package func add(
        _ outcome: CaptureOutcome,
        _ stack: FrameBuffer?,
        key: UInt64,
        at now: UInt64,
        slept: UInt64? = nil
    ) -> (index: Int, isSame: Bool, isNew: Bool) {
        sampleCount += 1
        if outcome.isCollecting { collectingCount += 1 }
        var gap = now.saturatingDifference(latestNanoseconds)
        latestNanoseconds = max(latestNanoseconds, now)
        if let latest, stacks[latest].key == key {
            stacks[latest].weightNanoseconds += gap
            stacks[latest].count += 1
            recordLeaf(of: stack, to: latest)
            if outcome.state.isAsleep == true, stacks[latest].outcome.state.isAsleep == true { asleepNanoseconds += gap }
            start.share(
                with: latest,
                isAwake: outcome.state.isAsleep == false,
                UnsafeMutableBufferPointer(start: stacks, count: count)
            )
            return (latest, true, false)
        }
        if let latest, let slept, let sleptBefore = stacks[latest].outcome.state.isAsleep, let sleeps = outcome.state.isAsleep,
            sleptBefore != sleeps
        {
            let earlier = sleptBefore ? min(slept, gap) : gap.saturatingDifference(slept)
            stacks[latest].weightNanoseconds += earlier
            gap -= earlier
        }
        let kept = keep(outcome, stack, key: key, weight: gap)
        if latest == nil { start = UnsampledStart(nanoseconds: gap) }
        start.share(
            with: kept.index,
            isAwake: outcome.state.isAsleep == false,
            UnsafeMutableBufferPointer(start: stacks, count: count)
        )
        latest = kept.index
        return (kept.index, false, kept.isNew)
    }

    /// Adds a stack, or finds it again.
    func keep(
        _ outcome: CaptureOutcome,
        _ stack: FrameBuffer?,
        key: UInt64,
        weight nanoseconds: UInt64
    ) -> (index: Int, isNew: Bool) {
        let known = position(of: key)
        let index = known ?? place()
        if known == nil {
            var stored = outcome
            stored.stored = stack?.copy(min(outcome.stored, maximumFrames), to: frames + index * maximumFrames) ?? 0
            (stacks + index).initialize(to: TalliedStack(key: key, outcome: stored))
        }
        stacks[index].weightNanoseconds += nanoseconds
        stacks[index].count += 1
        recordLeaf(of: stack, to: index)
        return (index, known == nil)
    }

    /// The process could not run for a time before `now`: no sample represents that.
    package func skip(over processPause: ProcessPause, until now: UInt64) {
        latestNanoseconds = latestNanoseconds.saturatingSum(processPause.share(from: latestNanoseconds, until: now).atLeast)
    }

    /// The stall is over, or is reported so far: the time after the last sample belongs to that sample.
    package func close(at until: UInt64) {
        guard until > latestNanoseconds else { return }
        if let latest {
            stacks[latest].weightNanoseconds += until - latestNanoseconds
        } else {
            closeWorkers(at: until)
        }
        latestNanoseconds = until
    }

    /// Copies another tally of the same size into this one. Allocates nothing.
    package func copy(_ other: StackTally) {
        count = other.count
        workerCount = other.workerCount
        workers.update(from: other.workers, count: workerCount)
        sampleCount = other.sampleCount
        collectingCount = other.collectingCount
        lostNanoseconds = other.lostNanoseconds
        asleepNanoseconds = other.asleepNanoseconds
        failure = other.failure
        latest = other.latest
        start = other.start
        latestNanoseconds = other.latestNanoseconds
        var index = 0
        while index < count {
            (stacks + index).initialize(to: other.stacks[index])
            let first = index * maximumFrames
            (frames + first).update(from: other.frames + first, count: stacks[index].outcome.stored)
            (leaves + index * Self.leafCapacity).update(
                from: other.leaves + index * Self.leafCapacity,
                count: stacks[index].leaves
            )
            var owner = 0
            while owner < stacks[index].owners {
                let place = index * Self.ownerCapacity + owner
                (owners + place).initialize(to: other.owners[place])
                let frame = (index * Self.ownerStacks + owner) * Self.ownerFrames
                (framesOfOwners + frame).update(from: other.framesOfOwners + frame, count: owners[place].outcome.stored)
                owner += 1
            }
            index += 1
        }
    }

    private func position(of key: UInt64) -> Int? {
        var index = 0
        while index < count {
            if stacks[index].key == key { return index }
            index += 1
        }
        return nil
    }

    /// A free place, or that of the lightest stack other than the latest.
    private func place() -> Int {
        if count < Self.capacity {
            count += 1
            return count - 1
        }
        var lightest = latest == 0 ? 1 : 0
        var index = 0
        while index < count {
            if index != latest, stacks[index].weightNanoseconds < stacks[lightest].weightNanoseconds { lightest = index }
            index += 1
        }
        lostNanoseconds += stacks[lightest].weightNanoseconds
        forgetWorkers(at: lightest)
        return lightest
    }
}
