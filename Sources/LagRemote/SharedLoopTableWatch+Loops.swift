internal import CLagBeacon
internal import Glibc
internal import LagActivity
internal import LagDetection
internal import LagMonitor
internal import Synchronization

/// Which of the table's loops are watched: the managing thread's alone.
extension SharedLoopTableWatch {
    /// Begins, pauses and ends watches, as the table has it now.
    func scan() {
        let loops = (0..<UInt32(CLB_LOOP_TABLE_SLOTS)).map { table.loop(at: $0) }
        // What a process's own monitor publishes of a thread goes before what is known of its waits: no stall has two lines.
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
                // Only what counts is waited for.
                slots[index] = nil
            }
            if loop.state != .ended, processes[loop.process] == nil { unwatched.insert(loop.process) }
        }
        // Of these the names are read each second, which finds their end.
        unwatched.subtract(slots.values.compactMap(\.unselected?.process))
    }

    /// The loops of a process that are watched.
    func loops(of process: Int32) -> [(index: UInt32, watched: SharedLoopTableSlot.WatchedLoop)] {
        slots.compactMap { index, slot in slot.watched.flatMap { $0.process == process ? (index, $0) : nil } }
    }

    /// Whether a loop of the process has moved since this was asked last.
    func hasMoved(_ process: Int32) -> Bool {
        var hasMoved = false
        for (_, watched) in loops(of: process) {
            let word = clb_beacon_word(watched.loop.beacon.raw)
            hasMoved = hasMoved || watched.word != word
            watched.word = word
        }
        return hasMoved
    }

    /// Has the names of what is not selected read again.
    func forgetSelection() {
        for (index, slot) in slots {
            if let loop = slot.unselected { slots[index] = .settled(claim: loop.claim) }
        }
    }

    /// A provisional claim as old is watched: a program that waits once for an answer has ended, or waits elsewhere, by then, and to watch a process
    /// costs a millisecond or two. The thread is asleep in its wait by then, so that can be seen what it waits on; a stall is longer.
    static let settleNanoseconds: UInt64 = 20_000_000

    /// When the next claim that is too young now is old enough.
    var settlingDeadline: UInt64 {
        slots.values.lazy.compactMap(\.settlingSince).min().map { $0 &+ Self.settleNanoseconds } ?? .max
    }

    /// Whether it is known to be a loop, or has been there for a while.
    private func isSettled(_ loop: SharedLoopTable.Loop) -> Bool {
        guard loop.state == .provisional else { return true }
        let now = clb_now_ns()
        switch slots[loop.index] {
        case .settling(loop.claim, let since): return now >= since &+ Self.settleNanoseconds
        // Also afterwards: one that cannot be watched is not waited for again.
        case .some(let slot) where slot.claim == loop.claim: return true
        default:
            release(loop.index)
            slots[loop.index] = .settling(claim: loop.claim, since: now)
            return false
        }
    }

    /// Counts a loop that is known to be one by now, with what was withheld of it. Also before its place is freed.
    func recordConfirmation(at index: UInt32) {
        guard let watched = slots[index]?.watched else { return }
        let wasDoubtful = watched.isDoubtful
        watched.isDoubtful = watched.loop.isDoubtful
        if wasDoubtful, !watched.isDoubtful { processes[watched.process]?.monitor.reportConfirmed() }
        guard !watched.isConfirmed, watched.loop.isConfirmed else { return }
        watched.isConfirmed = true
        processes[watched.process]?.hasLoops = true
        loopsBegun.add(1, ordering: .relaxed)
        processes[watched.process]?.monitor.reportConfirmed()
    }

    /// What lies before the end of a pause does not count.
    private func setPaused(_ watched: SharedLoopTableSlot.WatchedLoop, _ isPaused: Bool) {
        guard let monitor = processes[watched.process]?.monitor, watched.isPaused != isPaused else { return }
        watched.isPaused = isPaused
        if isPaused { monitor.pause(watched.loop) } else { monitor.resume(watched.loop) }
    }

    private func begin(_ loop: SharedLoopTable.Loop) {
        // This process has the table as well, and is not to be taken for one that writes into it.
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
            // One that was refused stays so until it is watched: it was reported.
            if slots[loop.index]?.watched != nil { release(loop.index) }
            try watched.monitor.watch(remote, rules: loop.isFromMonitor ? nil : configuration.preloadRules)
            slots[loop.index] = .watched(.init(remote, of: loop.process))
            recordConfirmation(at: loop.index)
            relay.pass(remote, to: watched.semaphore, at: loop.index)
        } catch {
            refuse(loop, "\(error)")
        }
    }

    /// One that is not selected keeps its place, and is asked for once a second: its thread or its process may get another name.
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

    /// Its place stays its own: it goes on writing there.
    func refuse(_ loop: SharedLoopTable.Loop, _ reason: String) {
        if case .refused(loop.claim) = slots[loop.index] { return }
        release(loop.index)
        slots[loop.index] = .refused(claim: loop.claim)
        guard refusalLinesLeft > 0 else { return }
        refusalLinesLeft -= 1
        reportError("cannot watch process \(loop.process): \(reason)")
        // Claims are as many as their processes like.
        if refusalLinesLeft == 0 { reportError("more processes that cannot be watched, not listed") }
    }

    private func free(_ loop: SharedLoopTable.Loop) {
        release(loop.index)
        table.free(loop)
    }

    /// Ends what is known of a slot, with the watch of its loop.
    private func release(_ index: UInt32) {
        guard let watched = slots.removeValue(forKey: index)?.watched else { return }
        relay.forget(index)
        processes[watched.process]?.monitor.unwatch(watched.loop)
    }

    private func forget(_ loop: SharedLoopTable.Loop) {
        recordConfirmation(at: loop.index)
        release(loop.index)
        // One that was left is still written until its own thread says so.
        if loop.state == .ended { table.free(loop) }
    }
}
