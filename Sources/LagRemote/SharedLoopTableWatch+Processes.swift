internal import CLagBeacon
internal import Glibc
internal import LagActivity
internal import LagDetection
internal import LagMonitor
internal import Synchronization

/// Begins and ends the watch of a process; only for the managing thread.
extension SharedLoopTableWatch {
    /// Also processes that continue as another program without the table. A living process whose loops move has the table; so
    /// does one that has not called exec since that was checked: reading its map each second would cost it, and us, up to a
    /// millisecond.
    func endExitedProcesses() {
        for (process, watched) in processes where !hasMoved(process) || !watched.handle.isAlive {
            // Before the map, so that a meanwhile started program is found at the next check.
            let image = ProgramImage(of: process)
            if let image, image.isKnown, image == watched.image, watched.handle.isAlive { continue }
            switch table.owner(of: process, stackPointer: 0) {
            case .found(let owner) where owner.startTicks == watched.startTicks && owner.mapsTable:
                // The process may have the table as another program, which inherited it as well.
                var known = watched.image
                if ProgramImage.isSame(&known, image) { processes[process]?.image = known } else { end(process) }
            case .unknown: continue
            case .found(let owner):
                end(process)
                if !owner.mapsTable { freeAll(of: process) }
            case .gone:
                end(process)
                freeAll(of: process)
            }
        }
        for process in unwatched {
            switch table.owner(of: process, stackPointer: 0) {
            case .found(let owner) where owner.mapsTable: continue
            case .unknown: continue
            case .found, .gone: freeAll(of: process)
            }
        }
    }

    /// Ends the watch of processes without a loop. A later loop gets a new monitor.
    func endIdleProcesses(at now: UInt64, after nanoseconds: UInt64) {
        for (process, watched) in processes {
            guard loops(of: process).isEmpty else {
                processes[process]?.idleSince = nil
                continue
            }
            let since = watched.idleSince ?? now
            processes[process]?.idleSince = since
            if now &- since >= nanoseconds { end(process) }
        }
    }

    /// No thread writes to the slot any more.
    func freeAll(of process: Int32) {
        for index in 0..<UInt32(CLB_LOOP_TABLE_SLOTS) {
            if let loop = table.loop(at: index), loop.process == process { table.free(loop) }
        }
    }

    /// Frees slots that have been invalid since the last check, and whose process is gone. A thread that is only late keeps its
    /// slot, because it will write there.
    func freeUnfinishedClaims() {
        let before = unfinished
        unfinished = table.unfinishedClaims
        var hasTable: [Int32: Bool] = [:]
        for (index, claim) in unfinished where before[index] == claim {
            let process = clb_claim_pid(claim)
            if hasTable[process] == nil {
                hasTable[process] =
                    switch table.owner(of: process, stackPointer: 0) {
                    case .found(let owner): owner.mapsTable && process != getpid()
                    case .unknown: true
                    case .gone: false
                    }
            }
            // An exec ends the claims of the previous program.
            let isOver = [CLB_SLOT_ENDED, CLB_SLOT_WITHDRAWN].contains(Int(clb_claim_state(claim)))
            if isOver || hasTable[process] == false { table.free(claim, at: index) }
        }
    }

    func make(_ process: Int32, startTicks: UInt64) throws(StallMonitorError) -> Watched {
        let semaphore = WakeSemaphore()
        // Before its name, so that another program's name is noticed.
        let image = ProgramImage(of: process)
        let context = configuration.context(of: process)
        let monitor = configuration.makeMonitor(
            of: context,
            semaphore: semaphore,
            sink: sink,
            processSinks: processSinks,
            reportError: reportError
        )
        try monitor.start()
        watching.withLock { $0.append(monitor) }
        return Watched(
            monitor: monitor,
            semaphore: semaphore,
            startTicks: startTicks,
            handle: ProcessHandle(process, end: end),
            name: context.processName,
            image: image
        )
    }

    func end(_ process: Int32) {
        for (index, _) in loops(of: process) { recordConfirmation(at: index) }
        guard let watched = processes[process] else { return }
        for (index, _) in stop(process, watched) {
            if let loop = table.loop(at: index), loop.process == process { table.free(loop) }
        }
    }

    /// - Returns: the loops that were watched; their slots can be watched again.
    @discardableResult
    func stop(_ process: Int32, _ watched: Watched) -> [(index: UInt32, watched: SharedLoopTableSlot.WatchedLoop)] {
        let loops = loops(of: process)
        for (index, _) in loops {
            relay.forget(index)
            slots[index] = nil
        }
        processes[process] = nil
        watched.monitor.stop()
        watching.withLock { $0.removeAll { $0 === watched.monitor } }
        past.withLock { $0 += watched.monitor.statistics }
        return loops
    }
}
