internal import CLagBeacon
internal import Glibc
internal import LagActivity
internal import LagDetection
internal import LagMonitor
internal import Synchronization

/// Decides which of the table's loops are watched; only for the managing thread.
extension SharedLoopTableWatch {
    /// Begins, pauses and ends watches, according to the current table.
    func scan() {
        let loops = (0..<UInt32(CLB_LOOP_TABLE_SLOTS)).map { table.loop(at: $0) }
        // A thread's publication by its process's own monitor takes precedence over its waits, so that no stall has two lines.
        let published = Set(loops.lazy.compactMap { $0 }.filter { $0.isFromMonitor && $0.isPresent }.map(\.thread))
        unwatched = []
        for (index, loop) in zip(UInt32(0)..., loops) {
            guard let loop else {
                if slots[index]?.watched == nil { slots[index] = nil }
                continue
            }
            let mayCount = loop.state == .live || loop.state == .provisional
            let counts = mayCount && (loop.isFromMonitor || !published.contains(loop.thread))
            if !loop.isPresent {
                forget(loop)
            } else if let watched = slots[index]?.watched, watched.loop.claim == loop.claim {
                recordConfirmation(at: index)
                setPaused(watched, !counts)
            } else if counts {
                if isSettled(loop) { begin(loop) }
            } else if case .settling = slots[index] {
                // Waits only for loops that count.
                slots[index] = nil
            }
            if loop.state != .ended, processes[loop.process] == nil { unwatched.insert(loop.process) }
        }
        // The names of these are read each second, which detects their end.
        unwatched.subtract(slots.values.compactMap(\.unselected?.process))
    }

    /// The watched loops of a process.
    func loops(of process: Int32) -> [(index: UInt32, watched: SharedLoopTableSlot.WatchedLoop)] {
        slots.compactMap { index, slot in slot.watched.flatMap { $0.process == process ? (index, $0) : nil } }
    }

    /// Whether a loop of the process has moved since the last call.
    func hasMoved(_ process: Int32) -> Bool {
        var hasMoved = false
        for (_, watched) in loops(of: process) {
            let word = clb_beacon_word(watched.loop.beacon.raw)
            hasMoved = hasMoved || watched.word != word
            watched.word = word
        }
        return hasMoved
    }

    /// Makes the names of unselected loops be read again.
    func forgetSelection() {
        for (index, slot) in slots {
            if let loop = slot.unselected { slots[index] = .settled(claim: loop.claim) }
        }
    }

    /// A provisional claim of this age is watched: a program that waits once for an answer has ended, or waits elsewhere, by
    /// then, and watching a process costs a millisecond or two. The thread is asleep in its wait by then, so its object can be
    /// read; a stall is longer.
    static let settleNanoseconds: UInt64 = 20_000_000

    /// When the next of the claims that are too young will be old enough.
    var settlingDeadline: UInt64 {
        slots.values.lazy.compactMap(\.settlingSince).min().map { $0 &+ Self.settleNanoseconds } ?? .max
    }

    /// Whether it is known to be a loop, or has existed for a while.
    private func isSettled(_ loop: SharedLoopTable.Loop) -> Bool {
        guard loop.state == .provisional else { return true }
        let now = clb_now_ns()
        switch slots[loop.index] {
        case .settling(loop.claim, let since): return now >= since &+ Self.settleNanoseconds
        // Also afterwards, so that an unwatchable loop is not waited for again.
        case .some(let slot) where slot.claim == loop.claim: return true
        default:
            release(loop.index)
            slots[loop.index] = .settling(claim: loop.claim, since: now)
            return false
        }
    }

    /// Counts a candidate that is now known to be a loop, and releases its withheld records. Also called before its slot is
    /// freed.
    func recordConfirmation(at index: UInt32) {
        guard let watched = slots[index]?.watched else { return }
        let wasDoubtful = watched.isDoubtful
        watched.isDoubtful = watched.loop.isDoubtful
        if wasDoubtful, !watched.isDoubtful { processes[watched.process]?.monitor.reportConfirmed() }
        defer { count(watched) }
        guard !watched.isConfirmed, watched.loop.isConfirmed else { return }
        watched.isConfirmed = true
        processes[watched.process]?.hasLoops = true
        processes[watched.process]?.monitor.reportConfirmed()
    }

    /// A thread that has only waited for time runs no loop. This shows once its wait has been read.
    private func count(_ watched: SharedLoopTableSlot.WatchedLoop) {
        setCounted(watched, watched.isConfirmed && !watched.loop.waitsForTimeAlone)
    }

    private func setCounted(_ watched: SharedLoopTableSlot.WatchedLoop, _ isCounted: Bool) {
        guard isCounted != watched.isCounted else { return }
        watched.isCounted = isCounted
        if isCounted {
            loopsBegun.add(1, ordering: .relaxed)
        } else {
            loopsBegun.subtract(1, ordering: .relaxed)
        }
    }

    /// Work before the end of a pause does not count.
    private func setPaused(_ watched: SharedLoopTableSlot.WatchedLoop, _ isPaused: Bool) {
        guard let monitor = processes[watched.process]?.monitor, watched.isPaused != isPaused else { return }
        watched.isPaused = isPaused
        if isPaused { monitor.pause(watched.loop) } else { monitor.resume(watched.loop) }
    }

    private func begin(_ loop: SharedLoopTable.Loop) {
        // This process has the table as well, and must not be taken for one that writes into it.
        guard loop.process != getpid() else { return free(loop) }
        guard isSelected(loop) else { return }
        let owner: SharedLoopTable.Owner
        switch table.owner(of: loop.process, stackPointer: loop.stackPointer) {
        case .found(let found) where found.mapsTable: owner = found
        case .found, .gone: return free(loop)
        case .unknown: return refuse(loop, "the kernel does not permit reading it")
        }
        if let watched = processes[loop.process],
            watched.startTicks != owner.startTicks || !watched.runs(ProgramImage(of: loop.process))
        {
            end(loop.process)
        }
        do throws(StallMonitorError) {
            let watched: Watched
            if let known = processes[loop.process] {
                watched = known
            } else {
                if processes.count >= Self.maximumProcesses { endIdleProcesses(at: clb_now_ns(), after: 0) }
                guard processes.count < Self.maximumProcesses else {
                    return refuse(loop, "\(processes.count) processes are already watched, which is the limit")
                }
                watched = try make(loop.process, startTicks: owner.startTicks)
            }
            processes[loop.process] = watched
            let remote = RemoteLoop(loop, owner, watched.handle, in: table)
            // A refused loop stays refused until it is watched, because it was reported.
            if slots[loop.index]?.watched != nil { release(loop.index) }
            try watched.monitor.watch(remote, rules: loop.isFromMonitor ? nil : configuration.preloadRules)
            slots[loop.index] = .watched(.init(remote, of: loop.process))
            recordConfirmation(at: loop.index)
            relay.pass(remote, to: watched.semaphore, at: loop.index)
        } catch {
            refuse(loop, "\(error)")
        }
    }

    /// An unselected loop keeps its slot, and is checked once a second, because its thread or process may get another name.
    private func isSelected(_ loop: SharedLoopTable.Loop) -> Bool {
        let selection = configuration.selection
        guard !selection.includesAll else { return true }
        if var known = slots[loop.index]?.unselected, known.claim == loop.claim {
            known.isProvisional = loop.state == .provisional
            slots[loop.index] = .unselected(known)
            return false
        }
        let (process, thread) = (loop.process, loop.thread.thread)
        if selection.includes(process: process), selection.includes(thread: thread, of: process) { return true }
        release(loop.index)
        slots[loop.index] = .unselected(
            UnselectedLoop(
                process: process,
                processName: ProcessContext.processName(of: process) ?? "unknown",
                name: ThreadName.selectable(thread, of: process) ?? "unknown",
                claim: loop.claim,
                isProvisional: loop.state == .provisional
            )
        )
        return false
    }

    /// It keeps its slot, because it continues to write there.
    func refuse(_ loop: SharedLoopTable.Loop, _ reason: String) {
        if case .refused(loop.claim) = slots[loop.index] { return }
        release(loop.index)
        slots[loop.index] = .refused(claim: loop.claim)
        guard refusalLinesLeft > 0 else { return }
        refusalLinesLeft -= 1
        reportError("cannot watch process \(loop.process): \(reason)")
        // Processes can make any number of claims.
        if refusalLinesLeft == 0 { reportError("more processes that cannot be watched, not listed") }
    }

    private func free(_ loop: SharedLoopTable.Loop) {
        release(loop.index)
        table.free(loop)
    }

    /// Discards the state of a slot, and ends the watch of its loop.
    private func release(_ index: UInt32) {
        guard let watched = slots.removeValue(forKey: index)?.watched else { return }
        relay.forget(index)
        processes[watched.process]?.monitor.unwatch(watched.loop)
    }

    private func forget(_ loop: SharedLoopTable.Loop) {
        recordConfirmation(at: loop.index)
        // It may have been its thread's start, unless the kernel has shown a loop, or a stall of it was reported.
        if loop.isWithdrawn, let watched = slots[loop.index]?.watched, watched.loop.claim == loop.claim,
            !watched.loop.isProved, !watched.loop.isReported
        {
            setCounted(watched, false)
        }
        release(loop.index)
        // An abandoned slot is still written until its own thread frees it.
        if loop.state == .ended { table.free(loop) }
    }
}
