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
        let settlingBefore = settling
        settling = [:]
        for (index, loop) in zip(UInt32(0)..., loops) {
            guard let loop else {
                refused[index] = nil
                unselected[index] = nil
                continue
            }
            let mayCount = loop.state == .live || loop.state == .provisional
            let counts = mayCount && (loop.isFromMonitor || !published.contains(loop.thread))
            if !loop.isPresent {
                forget(loop)
            } else if processes[loop.process]?.loops[index]?.claim == loop.claim {
                recordConfirmation(at: index, of: loop.process)
                setPaused(loop, !counts)
            } else if counts {
                // Only what is still there is waited for.
                settling[index] = settlingBefore[index]
                if isSettled(loop) { begin(loop) }
            }
            if loop.state != .ended, processes[loop.process] == nil { unwatched.insert(loop.process) }
        }
        // Of these the names are read each second, which finds their end.
        unwatched.subtract(unselected.values.map(\.process))
    }

    /// A provisional claim as old is watched: a program that waits once for an answer has ended, or waits elsewhere, by then, and to watch a process
    /// costs a millisecond or two. The thread is asleep in its wait by then, so that can be seen what it waits on; a stall is longer.
    static let settleNanoseconds: UInt64 = 20_000_000

    /// When the next claim that is too young now is old enough.
    var settlingDeadline: UInt64 {
        settling.values.lazy.filter { !$0.isOver }.map { $0.since &+ Self.settleNanoseconds }.min() ?? .max
    }

    /// Whether it is known to be a loop, or has been there for a while.
    private func isSettled(_ loop: SharedLoopTable.Loop) -> Bool {
        guard loop.state == .provisional else {
            settling[loop.index] = nil
            return true
        }
        let now = clb_now_ns()
        let seen = settling[loop.index]
        let since = seen?.claim == loop.claim ? seen!.since : now
        let isOver = now >= since &+ Self.settleNanoseconds
        // Also afterwards: one that cannot be watched is not waited for again.
        settling[loop.index] = (loop.claim, since, isOver)
        return isOver
    }

    /// Counts a loop that is known to be one by now, with what was withheld of it. Also before its place is freed.
    func recordConfirmation(at index: UInt32, of process: Int32) {
        guard let watched = processes[process], !watched.confirmed.contains(index), watched.loops[index]?.isConfirmed == true
        else { return }
        processes[process]?.confirmed.insert(index)
        processes[process]?.hasLoops = true
        loopsBegun.add(1, ordering: .relaxed)
        watched.monitor.reportConfirmed()
    }

    /// What lies before the end of a pause does not count.
    private func setPaused(_ loop: SharedLoopTable.Loop, _ isPaused: Bool) {
        guard let watched = processes[loop.process], let remote = watched.loops[loop.index],
            watched.paused.contains(loop.index) != isPaused
        else { return }
        if isPaused {
            processes[loop.process]?.paused.insert(loop.index)
            watched.monitor.pause(remote)
        } else {
            processes[loop.process]?.paused.remove(loop.index)
            watched.monitor.resume(remote)
        }
    }

    private func begin(_ loop: SharedLoopTable.Loop) {
        // This process has the table as well, and is not to be taken for one that writes into it.
        guard loop.process != getpid() else { return table.free(loop) }
        guard isSelected(loop) else { return }
        let owner: SharedLoopTable.Owner
        switch table.owner(of: loop.process, stackPointer: loop.stackPointer) {
        case .found(let found) where found.mapsTable: owner = found
        case .found, .gone: return table.free(loop)
        case .unknown: return refuse(loop, "the kernel does not let us read it")
        }
        if let watched = processes[loop.process], watched.startTicks != owner.startTicks { end(loop.process) }
        do throws(StallMonitorError) {
            var watched: Watched
            if let known = processes[loop.process] {
                watched = known
            } else {
                watched = try make(loop.process, startTicks: owner.startTicks)
            }
            let remote = RemoteLoop(loop, owner, watched.handle, in: table)
            if let earlier = watched.loops[loop.index] { watched.monitor.unwatch(earlier) }
            watched.paused.remove(loop.index)
            watched.confirmed.remove(loop.index)
            processes[loop.process] = watched
            try watched.monitor.watch(remote, rules: loop.isFromMonitor ? nil : configuration.preloadRules)
            processes[loop.process]?.loops[loop.index] = remote
            refused[loop.index] = nil
            recordConfirmation(at: loop.index, of: loop.process)
            relay.pass(remote, to: watched.semaphore, at: loop.index)
        } catch {
            refuse(loop, "\(error)")
        }
    }

    /// One that is not selected keeps its place, and is asked for once a second: its thread or its process may get another name.
    private func isSelected(_ loop: SharedLoopTable.Loop) -> Bool {
        let selection = configuration.selection
        guard !selection.includesAll else { return true }
        if unselected[loop.index]?.claim == loop.claim {
            unselected[loop.index]?.isProvisional = loop.state == .provisional
            return false
        }
        let (process, thread) = (loop.process, loop.thread.thread)
        unselected[loop.index] = nil
        if selection.includes(process: process), selection.includes(thread: thread, of: process) { return true }
        unselected[loop.index] = UnselectedLoop(
            process: process,
            processName: ProcessContext.processName(of: process) ?? "unknown",
            name: ThreadName.selectable(thread, of: process) ?? "unknown",
            claim: loop.claim,
            isProvisional: loop.state == .provisional
        )
        return false
    }

    /// Its place stays its own: it goes on writing there.
    private func refuse(_ loop: SharedLoopTable.Loop, _ reason: String) {
        if refused[loop.index] != loop.claim { reportError("cannot watch process \(loop.process): \(reason)") }
        refused[loop.index] = loop.claim
    }

    private func forget(_ loop: SharedLoopTable.Loop) {
        recordConfirmation(at: loop.index, of: loop.process)
        if let remote = processes[loop.process]?.loops.removeValue(forKey: loop.index) {
            relay.forget(loop.index)
            processes[loop.process]?.confirmed.remove(loop.index)
            processes[loop.process]?.paused.remove(loop.index)
            processes[loop.process]?.monitor.unwatch(remote)
        }
        // One that was left is still written until its own thread says so.
        if loop.state == .ended { table.free(loop) }
        unselected[loop.index] = nil
    }
}
