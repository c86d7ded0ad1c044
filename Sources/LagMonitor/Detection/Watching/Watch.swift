internal import CLagBeacon
internal import LagActivity
internal import LagCapture
internal import Synchronization

/// One watched loop, as the watchdog's thread sees it: all of its state, and what is done with it.
///
/// The state lies in the registry's memory, in two parts: ``HotPart``, the cache line that every scan touches, and ``ColdPart``. This is
/// two pointers to them, made anew for each use.
///
/// Threads: the watchdog's alone. The owner's side of a watch is ``WatchRegistry``; the two meet in ``State``.
struct Watch {
    /// What the owner and the watchdog agree on. Each change is one atomic exchange.
    enum State: UInt8, AtomicRepresentable {
        /// The place is unused. The registry makes it `active`.
        case free
        /// The loop is watched. The registry makes it `paused` or `ending`, the watchdog `retired` when the loop has finished.
        case active
        /// The owner paused the watch. The registry makes it `resuming` or `ending`.
        case paused
        /// The owner resumed the watch: with its next scan the watchdog begins anew and makes it `active`, also if it did not get to
        /// see the pause.
        case resuming
        /// The owner ended the watch: with its next scan the watchdog closes what is in progress and makes it `retired`.
        case ending
        /// The watchdog does not touch it any more. The registry releases the loop and makes it `free`.
        case retired
    }

    /// Where the watchdog is with a loop.
    enum Condition {
        /// No rule sees a sign of a stall.
        case quiet
        /// A rule saw the first sign of a stall, or compares stacks: what the thread did then, so that a capture knows whether it has
        /// waited since.
        case suspicious(ThreadState)
        /// A stall is in progress that is, or will be, reported.
        case stalled(StallRecording)
        /// The watch is paused, and the watchdog knows: the beacon is not read.
        case paused
    }

    /// Whether the end of a stall was left to the next scan, because this one had taken so long that the process may have been stopped
    /// in it.
    enum Deferral {
        /// The last scan took what it found.
        case none
        /// The last scan left it, with the process pause that it knew of. Not twice in a row: other loops may take long each time.
        case deferred(ProcessPause?)
    }

    let index: Int
    let hot: UnsafeMutablePointer<HotPart>
    let cold: UnsafeMutablePointer<ColdPart>
    // Unowned: the watchdog holds it, and a scan of thousands of loops must count no references.
    unowned(unsafe) let services: WatchServices

    init(_ index: Int, _ services: WatchServices) {
        self.index = index
        hot = services.registry.hotParts + index
        cold = services.registry.coldParts + index
        self.services = services
    }

    /// What the rules are to see of the loop now.
    var reading: BeaconReading {
        var reading = BeaconReading(hot.pointee.beacon)
        reading.sampled = cold.pointee.sampled?.sampledStretches
        if reading.word == cold.pointee.examination.quietWord { return reading.atRest }
        guard reading.word == cold.pointee.examination.word else { return reading }
        return reading.begun(notBefore: cold.pointee.examination.resumed)
    }

    // MARK: Arming

    /// Asks the loop to report when the stall in progress is over.
    func arm() {
        switch cold.pointee.detector.activeStall?.lead {
        case .callout: return arm(UInt32(CLB_ARMED_ANY))
        // A loop that counts its waits, not its rests, would answer with each turn.
        case .starvation where countsSleeps: return
        case .starvation: break
        // The others know their end without the loop's report; one that goes on working would answer with every activity.
        case .ping, .frame, .sample, nil: return
        }
        // A loop that is run for one source at a time answers each time, and goes on: then the ticks have to do.
        guard services.clock() &- clb_beacon_answered_ns(hot.pointee.beacon) > Watchdog.suspicionPollNanoseconds else { return }
        arm(UInt32(CLB_ARMED_REST))
    }

    func arm(_ armed: UInt32) {
        // Another process's loop knows itself whom to wake.
        if services.isRemote {
            clb_beacon_rearm(hot.pointee.beacon, armed)
        } else {
            clb_beacon_arm(hot.pointee.beacon, services.semaphore.raw, armed)
        }
    }

    // MARK: Pings

    /// Gives a ping to the loop, or has it given.
    func ping() {
        guard let loop = cold.pointee.pingable else { return }
        guard loop.pingsWithoutLocking else { return services.relay.requestPing(index) }
        cold.pointee.pinged.store(services.clock(), ordering: .releasing)
        loop.ping()
    }
}
