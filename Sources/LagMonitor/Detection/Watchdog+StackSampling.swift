internal import CLagLinux
internal import LagActivity
internal import LagCapture
internal import Synchronization

/// Looks at the stack of a thread that stalls, and at what it waits for.
extension Watchdog {
    /// Looks at the owners of one lock take so long at most, but for the last of them.
    private static let ownersNanoseconds: UInt64 = 20_000_000

    /// How much of a stack tells it from others: deeper, a recursion would be another stack at every depth.
    private static let framesOfKey = 64

    /// Notes the CPU clock of a loop's thread, so that it is known what it stood at when a stall began.
    func readClock(_ index: Int) {
        let cold = registry.coldParts + index
        let tid = cold.pointee.target.tid
        guard tid != 0, registry.hotParts[index].state.load(ordering: .acquiring) == .active else { return }
        var cpu: UInt64 = 0
        if let times = cold.pointee.remoteTimes {
            cpu = ThreadTimes(times)?.cpuNanoseconds ?? 0
        } else {
            cpu = cll_thread_cpu_ns(tid)
        }
        let reading = UsageMeter.Reading(time: clock(), cpu: cpu)
        cold.pointee.usage.record(reading, BeaconReading(registry.hotParts[index].beacon))
    }

    /// Finds the thread that works for a loop which has none of its own.
    func locate(_ index: Int) {
        let cold = registry.coldParts + index
        guard let loop = cold.pointee.unpinned else { return }
        let tid = loop.presentThread
        guard tid != cold.pointee.target.tid else { return }
        cold.pointee.target =
            tid == 0 ? ThreadIdentity(tid: 0, process: capture.process, stackLow: 0, stackHigh: 0) : capture.identity(of: tid)
        // What was known of another thread says nothing of this one.
        cold.pointee.earlier = nil
        cold.pointee.timesAtLastSample = nil
        cold.pointee.usage.first = UsageMeter.Totals(tid: tid, process: capture.process, at: clock())
    }

    /// Looks at the stack of the stall in progress, and says when to look again.
    func sampleStack(_ index: Int, _ reading: BeaconReading) {
        let cold = registry.coldParts + index
        let kind = cold.pointee.detector.activeStall?.lead ?? .callout
        var isWorthAnother = true
        // Whatever comes of this look: one that is due already would be due for ever.
        defer {
            // Not in step with what the thread may do at a fixed pace.
            let next = clock().saturatingSum(cold.pointee.stackSamplingBackoff.gap(random.next()))
            // Of a loop that moves, at a tick, which comes anyway: a stall of hours must not cost more wakes than being busy does.
            let isMoving = kind == .starvation || kind == .sample
            let due = isMoving ? next.nextTick(ofInterval: registry.hotParts[index].tickNanoseconds) : next
            cold.pointee.nextStackSampleNanoseconds = isWorthAnother ? due : .max
        }
        guard let episode = cold.pointee.episode.map({ queue.episodes[$0] }) else {
            isWorthAnother = false
            return
        }
        if let threadPool = cold.pointee.threadPool {
            let isSame = sampleWorkers(of: threadPool, index, kind, reading, in: episode)
            let age = clock().saturatingDifference(cold.pointee.stalledNanoseconds)
            return cold.pointee.stackSamplingBackoff.record(isSame: isSame, age: age)
        }
        locate(index)
        let target = cold.pointee.target
        guard target.tid != 0 else {
            isWorthAnother = cold.pointee.unpinned != nil
            cold.pointee.stackSamplingBackoff.record(isSame: true, age: 0)
            return episode.tally.recordFailure(.failed(.threadUnknown))
        }
        // Here that is known only by looking: from now on nothing counts until its process goes on.
        if isRemote, isHeld(target.tid) {
            isWorthAnother = false
            return endActiveStall(index, ignoreBefore: clock(), nil)
        }
        episode.facts.thread = target.tid
        takeLateAnswer()
        let now = clock()
        let age = now.saturatingDifference(cold.pointee.stalledNanoseconds)
        let outcome = capture.capture(
            target,
            earlier: cold.pointee.earlier,
            into: scratch,
            allowsLateAnswer: true,
            // Other loops wait for their looks meanwhile.
            budget: episode.tally.sampleCount == 0 ? .full : .brief
        )
        // After the first look, whether it has waited for something since the last one.
        cold.pointee.earlier = ThreadState(tid: target.tid, process: target.process)
        guard isStillStalled(index, kind, as: reading) else {
            capture.forget(target.tid)
            cold.pointee.stackSamplingBackoff.record(isSame: true, age: age)
            return episode.tally.recordFailure(.failed(.loopMovedOn))
        }
        guard outcome.method != .none else {
            // What could not be had may cost as much the next time.
            cold.pointee.stackSamplingBackoff.record(isSame: true, age: age)
            guard outcome.state == .asleep else { return episode.tally.recordFailure(outcome) }
            return recordSleep(outcome, of: target, in: episode, at: now, slept: timeAsleep(cold, episode.tally, at: now))
        }
        let slept = timeAsleep(cold, episode.tally, at: now)
        let place = episode.tally.add(outcome, scratch, key: key(of: outcome), at: now, slept: slept)
        cold.pointee.stackSamplingBackoff.record(isSame: place.isSame, age: age)
        guard case .waiting(let call) = outcome.state else { return }
        describe(call, of: target, in: episode, place.index, isNew: place.isNew)
        if !isStillStalled(index, kind, as: reading) { episode.tally.forgetOwners(place.index) }
    }

    /// For how long the thread slept since the look before.
    private func timeAsleep(_ cold: UnsafeMutablePointer<WatchColdPart>, _ tally: StackTally, at now: UInt64) -> UInt64? {
        let earlier = cold.pointee.timesAtLastSample
        cold.pointee.timesAtLastSample = ThreadTimes(tid: cold.pointee.target.tid, process: capture.process)
        guard let earlier, let times = cold.pointee.timesAtLastSample else { return nil }
        return times.slept(since: earlier, in: now.saturatingDifference(tally.latestNanoseconds))
    }

    /// A thread of which the kernel tells no more than that it sleeps, and perhaps in which of its functions.
    private func recordSleep(
        _ outcome: CaptureOutcome,
        of target: ThreadIdentity,
        in episode: Episode,
        at now: UInt64,
        slept: UInt64?
    ) {
        let place = episode.tally.add(outcome, nil, key: key(of: outcome), at: now, slept: slept)
        guard place.isNew else { return }
        var call = cll_thread_syscall()
        call.number = Int64(CLL_CALL_UNKNOWN)
        cll_wait_describe(target.process, target.tid, &call, &wait)
        episode.tally.describe(place.index, wait, cll_lock(), cycle: nil)
    }

    /// The answer of a thread that had no processor to give it may be there now. It had to give it before it went on, so it belongs
    /// to the stall in which it was asked.
    func takeLateAnswer() {
        guard let late = capture.lateAnswer(into: scratch), late.outcome.method != .none else { return }
        var index = 0
        while index < registry.count {
            let cold = registry.coldParts + index
            let isMeant = cold.pointee.target.tid == late.tid && late.asked >= cold.pointee.stalledNanoseconds
            if isMeant, let episode = cold.pointee.episode {
                _ = queue.episodes[episode].tally.add(late.outcome, scratch, key: key(of: late.outcome), at: late.asked)
                cold.pointee.timesAtLastSample = nil
            }
            index += 1
        }
    }

    /// What the thread waits for, and who holds it. Again and again for a lock: its owner may be another one, and a deadlock
    /// closes when the last thread comes to it.
    func describe(
        _ call: cll_thread_syscall,
        of target: ThreadIdentity,
        in episode: Episode,
        _ index: Int,
        isNew: Bool
    ) {
        let isLock = call.number == cll_syscall_futex
        guard isNew || isLock else { return }
        if isLock {
            chain.follow(target.tid, in: call)
            let known = episode.tally[index]
            let isOther = known.lock.owner != chain[0].lock.owner || known.lock.address != chain[0].lock.address
            guard isNew || isOther || (chain.cycle != nil && known.cycle < 0) else { return }
        }
        var call = call
        cll_wait_describe(target.process, target.tid, &call, &wait)
        let inode = cll_wait_socket(&wait)
        if inode != 0 {
            queue.giveSocket(inode)
            notify()
        }
        episode.tally.describe(index, wait, isLock ? chain[0].lock : cll_lock(), cycle: isLock ? chain.cycle : nil)
        guard isLock else { return }
        if chain.count > 1, clock() &- modulesReadAt > Self.modulesAgeNanoseconds { refreshModules() }
        let begun = clock()
        var number = 1
        while number < chain.count {
            let link = chain[number]
            let identity = capture.identity(of: link.tid)
            var outcome = CaptureOutcome.failed(.noFreeSlot)
            // The other loops wait meanwhile. Nobody has looked at this thread before: it has to be found quiet first.
            if number <= StackTally.ownerStacks, clock() &- begun < Self.ownersNanoseconds {
                let isBounded = identity.stackLow != 0
                outcome = capture.capture(identity, earlier: nil, into: scratch, bySignal: isBounded, budget: .brief)
            }
            var name = cll_name()
            cll_procfs_name(capture.process, link.tid, &name)
            let owner = TalliedOwner(tid: link.tid, lock: link.lock, outcome: outcome, name: name)
            episode.tally.add(owner, scratch, to: index)
            number += 1
        }
    }

    /// Stacks of the same functions have the same key, if the thread runs or sleeps in both. Some 1 µs a frame.
    func key(of outcome: CaptureOutcome) -> UInt64 {
        var key: UInt64 =
            switch outcome.state {
            case .unknown: 0
            case .running: 1
            case .runningCall: 2
            case .waiting: 3
            case .faulting: 4
            case .asleep: 5
            }
        var previous: UInt64 = 0
        var index = 0
        while index < min(outcome.stored, Self.framesOfKey) {
            let function = capture.function(of: scratch[index])
            // FNV-1a, by words (RFC 9923); a recursion counts once.
            if function != previous { key = (key ^ function) &* 0x0000_0100_0000_01b3 ^ key >> 29 }
            previous = function
            index += 1
        }
        return key
    }

    /// The first use of a type or of a way takes memory, which the thread that stalls may have locked.
    /// - Parameter starter: a thread that waits for this call to end, and by a lock.
    func warmUpSampling(_ starter: ThreadIdentity) {
        guard starter.process == capture.process else { return }
        let tally = queue.episodes[0].tally
        tally.begin(at: clock())
        let outcome = capture.capture(starter, earlier: nil, into: scratch)
        tally.recordFailure(outcome)
        _ = tally.add(outcome, scratch, key: key(of: outcome), at: clock())
        if case .waiting(let call) = outcome.state {
            describe(call, of: starter, in: queue.episodes[0], 0, isNew: true)
        }
        tally.close(at: clock())
        var meter = UsageMeter()
        meter.record(.init(time: clock(), cpu: 1), BeaconReading(word: 1, calloutNanoseconds: 1))
        if let totals = UsageMeter.Totals(tid: starter.tid, at: clock()) {
            _ = meter.usage(since: 0, until: clock(), length: 1, spansCallouts: true, totals)
        }
        _ = registry.hotParts[0].state.load(ordering: .relaxed)
        StallDetector.warmUp()
        PauseMeter.warmUp(tid: cll_gettid())
        queue.episodes[1].copy(queue.episodes[0])
        tally.release()
        queue.episodes[1].tally.release()
        tally.begin(at: 0)
    }
}
