internal import CLagBeacon
internal import LagActivity
internal import Synchronization

/// How the watchdog handles the requests of a watch's owner, and the loop's end.
extension Watch {
    /// Ends the watch. A stall in progress is abandoned; one that is over by now has ended properly.
    /// - Parameter processPause: one since the loop was last observed.
    func finish(_ processPause: ProcessPause?) {
        endActiveStall(ignoreBefore: 0, processPause)
        // Another watch of the same loop may rely on the arming: the scan restores it.
        clb_beacon_disarm(hot.pointee.beacon)
        hot.pointee.state.store(.retired, ordering: .releasing)
    }

    /// The owner paused the watch: a stall in progress ends with it.
    func pause(_ processPause: ProcessPause?) {
        if case .paused = cold.pointee.condition { return }
        endActiveStall(ignoreBefore: 0, processPause)
        cold.pointee.condition = .paused
    }

    /// The owner resumed the watch: nothing before that counts. A stall in progress ends, if the pause was over before this
    /// thread saw it.
    /// - Returns: false if it does not continue, because it has just been paused or ended.
    func resume(_ processPause: ProcessPause?) -> Bool {
        let state = hot.pointee.state.compareExchange(expected: .resuming, desired: .active, ordering: .acquiringAndReleasing)
        guard state.exchanged else { return false }
        endActiveStall(ignoreBefore: cold.pointee.resumedNanoseconds.load(ordering: .acquiring), processPause)
        cold.pointee.condition = .quiet
        cold.pointee.hold = Hold()
        hot.pointee.lastWord = .max
        // What was recorded meanwhile: entries that are still in the ring are replayed, and ignored by their times; the others
        // are unknown.
        let count = clb_beacon_stretch_count(hot.pointee.beacon)
        hot.pointee.stretchCount = count &- min(count &- hot.pointee.stretchCount, UInt16(CLB_BEACON_STRETCHES) - 1)
        hot.pointee.hasUnreportedFastPoll = false
        return true
    }

    func endActiveStall(ignoreBefore: UInt64, _ processPause: ProcessPause?) {
        let reading = self.reading
        defer { settle() }
        var processPause = ProcessPause.joined(cold.pointee.takeDeferredPause(), processPause)
        processPause = ProcessPause.joined(processPause, takeHold(at: services.clock()))
        if !cold.pointee.isPaused, reading.beaconWord != hot.pointee.lastWord, !isLost(reading) {
            observe(reading, at: services.clock(), processPause)
            processPause = nil
        }
        switch cold.pointee.detector.finish(at: end(of: reading), ignoreBefore: ignoreBefore, processPause) {
        case .ended(let stall, let interval): abandon(stall, interval, reading)
        case .suppressed: cold.pointee.suppressed.add(1, ordering: .relaxed)
        default: break
        }
    }

    /// When a stall in progress ends with its watch: now, or when the thread of a sampled loop was found to have ended. That is
    /// reported only once it is known how its process ended.
    private func end(of reading: BeaconReading) -> UInt64 {
        let now = services.clock()
        guard isLost(reading), let sampled = reading.sampled, sampled.present == nil else { return now }
        return min(sampled.last?.ended?.likely ?? now, now)
    }

    /// A sampled loop's thread is gone: its work in progress did not come to an end.
    func isLost(_ reading: BeaconReading) -> Bool { cold.pointee.sampled != nil && reading.activity == .finished }
}
