internal import CLagBeacon
internal import LagActivity
internal import LagModel
internal import Synchronization

extension Watchdog {
    /// What to do after a scan.
    package struct Plan: Equatable {
        /// When to scan again; `.max`: when a loop wakes.
        package internal(set) var deadline: UInt64
        /// Whether a post is news: a stall is being timed, or every loop sleeps.
        package internal(set) var wantsPosts: Bool
        /// Whether a loop may be stalled.
        var isClose = false

        package static let idle = Plan(deadline: .max, wantsPosts: false)
    }

    /// The longest wait while a loop may be stalled: the length of a stop is known with this precision.
    static let suspicionPollNanoseconds: UInt64 = 10_000_000

    /// After an arming that came too late because a loop moved meanwhile: scan again at once, but not in a tight loop.
    static let shortWaitNanoseconds: UInt64 = 1_000_000

    /// For this many loops, the threads' CPU clocks are read at every scan, which takes some 0.3 µs each.
    private static let readClocks = 64

    /// The beacons are spread over memory, mostly in another processor's cache: they are prefetched this many loops ahead.
    private static let fetchedAhead = 12

    /// Visits every watch.
    /// - Parameter processPause: a time since the last scan in which the process may not have run.
    package func scan(at now: UInt64, processPause: ProcessPause? = nil) -> Plan {
        var state = ScanState(now: now, processPause: processPause, firstReading: services.firstReading)
        let count = services.count
        let readsClocks = count <= Self.readClocks
        for index in 0..<count {
            // A visit may take long, and the caller that stops the monitor waits for this thread.
            if isStopping { break }
            if index + Self.fetchedAhead < count {
                clb_beacon_prefetch(services.registry.hotParts[index + Self.fetchedAhead].beacon)
            }
            let watch = services.watch(index)
            watch.visit(&state)
            // Afterwards: a stall that is over is accounted for by the readings around its beginning.
            if readsClocks { watch.readClock() }
        }
        services.firstReading = state.firstUnread ?? 0
        let shortWait = now.saturatingSum(Self.shortWaitNanoseconds)
        services.refreshThrottling(at: now)
        if state.isBusy { state.nextNanoseconds = min(state.nextNanoseconds, state.idleNextNanoseconds) }
        if state.isSuspicious {
            state.nextNanoseconds = min(state.nextNanoseconds, state.now.saturatingSum(Self.suspicionPollNanoseconds))
        }
        if state.hasRetired {
            services.notify()
            if state.isStalled, !rearm() { state.nextNanoseconds = min(state.nextNanoseconds, shortWait) }
        }
        if !state.isBusy, !park() { state.nextNanoseconds = min(state.nextNanoseconds, shortWait) }
        return Plan(deadline: state.nextNanoseconds, wantsPosts: state.isStalled || !state.isBusy, isClose: state.isSuspicious)
    }

    /// Arms the stalled loops again, because an ended watch may have disarmed one. False if one has moved meanwhile.
    private func rearm() -> Bool {
        var unmoved = true
        for index in 0..<services.count {
            let watch = services.watch(index)
            guard watch.hot.pointee.state.load(ordering: .acquiring) == .active, watch.cold.pointee.detector.isStalled else {
                continue
            }
            watch.arm()
            if clb_beacon_word(watch.hot.pointee.beacon) != watch.hot.pointee.lastWord { unmoved = false }
        }
        return unmoved
    }

    /// Arms every beacon, so that the first loop to wake posts. False if one did before it was armed.
    private func park() -> Bool {
        for index in 0..<services.count {
            let watch = services.watch(index)
            guard watch.hot.pointee.state.load(ordering: .acquiring) == .active else { continue }
            watch.arm(UInt32(CLB_ARMED_ANY))
            if clb_beacon_word(watch.hot.pointee.beacon) != watch.hot.pointee.lastWord { return false }
        }
        return true
    }

    /// Ends every watch.
    /// - Parameter processPause: one since the last scan.
    func endAll(_ processPause: ProcessPause? = nil) {
        for index in 0..<services.count {
            let watch = services.watch(index)
            switch watch.hot.pointee.state.load(ordering: .acquiring) {
            case .active, .paused, .resuming, .ending: watch.finish(processPause)
            case .free, .retired: break
            }
        }
        services.notify()
    }
}
