internal import CLagLinux
internal import LagActivity
internal import LagCapture
internal import LagModel

/// Identifies a captured stack, and what its thread waits for.
extension WatchServices {
    /// The time limit for capturing the owners of one lock; the last capture may exceed it.
    private static let ownersNanoseconds: UInt64 = 20_000_000
    /// How many times the capture of an interpreter's holder is retried if it gets no processor at which to stop.
    private static let mostOwnerTries: UInt8 = 3

    /// How much of a stack distinguishes it from others: with more, a recursion would be a different stack at every depth.
    private static let framesOfKey = 64
    /// For this many of the outermost frames, the functions are identified as well (``LoopStack``).
    private static let outermostFrames = LoopStack.capacity

    /// Stacks of the same functions have the same key, if the thread runs in both or sleeps in both. Stores the functions with
    /// the frames in ``scratch``. Some 1 µs per frame.
    func key(of outcome: CaptureOutcome) -> UInt64 {
        findFunctions(of: outcome.stored)
        let state: UInt64 =
            switch outcome.state {
            case .unknown: 0
            case .running: 1
            case .runningCall: 2
            case .waiting: 3
            case .faulting: 4
            case .asleep: 5
            }
        var key = StableHash(variant: state)
        var previous: UInt64 = 0
        var index = 0
        while index < min(outcome.stored, Self.framesOfKey) {
            let function = function(at: index)
            // A recursion counts once.
            if function != previous { key.combine(folding: function) }
            previous = function
            index += 1
        }
        return key.value
    }

    /// Identifies the functions of the frames in ``scratch``: those that make a key, and the outermost ones.
    func findFunctions(of stored: Int) {
        var index = 0
        while index < stored {
            if index == Self.framesOfKey { index = max(index, stored - Self.outermostFrames) }
            if scratch[index].language == 0 { capture.findFunction(at: index, in: scratch) }
            index += 1
        }
    }

    /// The innermost calls of a sleeping thread, without those of languages; empty if it does not sleep. Changes ``scratch``.
    /// Some 50 µs; allocates: only for other processes.
    /// - Parameter outcome: a capture that was just taken. It is used if it has no frames of languages, which are not on the
    ///   stack.
    func calls(of target: ThreadIdentity, after outcome: CaptureOutcome? = nil) -> [LoopCalls.Call] {
        var outcome = outcome
        if outcome.map({ scratch.hasLanguages(in: $0.stored) }) ?? true {
            let found = capture.capture(
                target,
                earlier: nil,
                into: scratch,
                bySignal: false,
                withLanguages: false,
                budget: .once
            )
            findFunctions(of: found.stored)
            outcome = found
        }
        guard let outcome, outcome.method == .passive else { return [] }
        return (0..<min(outcome.stored, LoopCalls.capacity)).map { index in
            let frame = scratch[index]
            return LoopCalls.Call(
                function: frame.isWithoutTables ? 0 : frame.functionStart,
                stackPointer: scratch.stackPointer(of: index),
                isSystems: frame.module.map { capture.modules.isSystems($0) } ?? false
            )
        }
    }

    /// Identifies the function of a frame in ``scratch``.
    private func function(at index: Int) -> UInt64 {
        let frame = scratch[index]
        return frame.language == 0 ? frame.functionStart : capture.function(of: frame)
    }

    /// A thread about which the kernel only reports that it sleeps, and perhaps in which kernel function.
    func recordSleep(
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

    /// The answer of a thread that had no processor may have arrived now. The thread had to answer before it continued, so the
    /// answer belongs to the stall of the request.
    func takeLateAnswer() {
        guard let late = capture.lateAnswer(into: scratch), late.outcome.method != .none else { return }
        var index = 0
        while index < count {
            let cold = registry.coldParts + index
            if let recording = cold.pointee.recording, let episode = recording.episode, cold.pointee.target.tid == late.tid,
                late.asked >= recording.sinceNanoseconds
            {
                let watch = Watch(index, self)
                if isRemote { watch.recordRunning(true, late.outcome, in: queue.episodes[episode], at: late.asked) }
                var outcome = late.outcome
                watch.addAsyncCallers(toLate: &outcome)
                _ = queue.episodes[episode].tally.add(outcome, scratch, key: key(of: outcome), at: late.asked)
                cold.pointee.recording?.timesAtLastSample = nil
            }
            index += 1
        }
    }

    /// What the thread waits for, and the holder. For a lock this is repeated: its owner may change (the one that held it for
    /// most of the time is kept), and a deadlock is complete only when the last thread reaches it.
    /// - Parameter isStillStalled: called if something was found: at the end of a stall the lock has no owner any more, or
    ///   another one.
    func describe(
        _ call: cll_thread_syscall,
        of target: ThreadIdentity,
        in episode: Episode,
        _ index: Int,
        isNew: Bool,
        isStillStalled: () -> Bool
    ) {
        let isLock = call.number == cll_syscall_futex
        guard isNew || isLock else { return }
        if isLock {
            chain.follow(target.tid, in: call)
            let (known, found) = (episode.tally[index], chain[0].lock)
            // A lock without an owner is about to be taken: its former holder is known.
            let isKnown = found.owner == 0 && known.lock.owner != 0 && known.lock.address == found.address
            let isOther = !isKnown && (known.lock.address != found.address || known.lock.owner != found.owner)
            let isFirst = isOther && known.lock.owner == 0
            let isOutvoted = episode.tally.voteForOwner(of: index, isOther: isOther && !isNew, isFirst: isFirst || isNew)
            let lacksStack = !isOther && found.owner != 0 && lacksStack(ofOwner: known, at: index, in: episode.tally)
            guard isNew || isOutvoted || lacksStack || (chain.cycle != nil && known.cycle < 0) else { return }
        }
        var call = call
        cll_wait_describe(target.process, target.tid, &call, &wait)
        guard isNew || isStillStalled() else { return }
        let inode = cll_wait_socket(&wait)
        if inode != 0 {
            queue.giveSocket(inode)
            notify()
        }
        episode.tally.describe(index, wait, isLock ? chain[0].lock : cll_lock(), cycle: isLock ? chain.cycle : nil)
        guard isLock else { return }
        addOwners(to: index, in: episode)
        if !isStillStalled() { episode.tally.forgetOwners(index) }
    }

    /// Whether a lock is stored with its owner but without the owner's stack: the owner got no processor at which to stop, as on
    /// a busy machine.
    private func lacksStack(ofOwner stack: TalliedStack, at index: Int, in tally: StackTally) -> Bool {
        guard isRemote, stack.ownerTries < Self.mostOwnerTries else { return false }
        return stack.owners == 0 || tally.owner(0, of: index).outcome.stored == 0
    }

    /// The threads of the chain of owners, with the stacks of the first ones.
    private func addOwners(to index: Int, in episode: Episode) {
        if chain.count > 1 { refreshModules() }
        let begun = clock()
        var number = 1
        while number < chain.count {
            let link = chain[number]
            let identity = capture.identity(of: link.tid)
            var outcome = CaptureOutcome.failed(.noFreeSlot)
            // The other loops wait meanwhile. This thread was not sampled before: it must be found quiet first.
            if number <= StackTally.ownerStacks, clock() &- begun < Self.ownersNanoseconds {
                // An owner that computes is most to blame.
                outcome = capture.capture(identity, earlier: nil, into: scratch, budget: .brief)
                // What it has done since it released the lock does not matter.
                if !chain.isStillHeld(number - 1) { outcome = .failed(.threadKeptMoving) }
            }
            var name = cll_name()
            cll_procfs_name(capture.process, link.tid, &name)
            let owner = TalliedOwner(tid: link.tid, lock: link.lock, outcome: outcome, name: name)
            episode.tally.add(owner, scratch, to: index)
            number += 1
        }
    }
}
