internal import CLagBeacon
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import Synchronization

/// One watched loop for the watchdog's thread: all of its state, and the operations on it.
///
/// The state is in the registry's memory, in two parts: ``HotPart``, the cache line that every scan touches, and ``ColdPart``.
/// This type is two pointers to them, created for each use.
///
/// Threads: only the watchdog's. The owner's side of a watch is ``WatchRegistry``; the two communicate by ``State``.
struct Watch {
    /// The protocol between the owner and the watchdog. Each change is one atomic exchange.
    enum State: UInt8, AtomicRepresentable {
        /// The entry is unused. The registry changes it to `active`.
        case free
        /// The loop is watched. The registry changes it to `paused` or `ending`, the watchdog to `retired` when the loop has
        /// finished.
        case active
        /// The owner paused the watch. The registry changes it to `resuming` or `ending`.
        case paused
        /// The owner resumed the watch: with its next scan, the watchdog starts again and changes it to `active`, even if it
        /// never saw the pause.
        case resuming
        /// The owner ended the watch: with its next scan, the watchdog closes what is in progress and changes it to `retired`.
        case ending
        /// The watchdog does not touch it any more. The registry releases the loop and changes it to `free`.
        case retired
    }

    /// The watchdog's state for a loop.
    enum Condition {
        /// No rule sees a sign of a stall.
        case quiet
        /// A rule saw the first sign of a stall, or compares stacks. Contains the thread's state then, so that a capture knows
        /// whether it has waited since.
        case suspicious(ThreadState)
        /// A stall is in progress that is, or will be, reported.
        case stalled(StallRecording)
        /// The watch is paused, and the watchdog has seen that: the beacon is not read.
        case paused
    }

    /// Whether the end of a stall was left to the next scan, because this one had taken so long that the process may have been
    /// stopped in it.
    enum Deferral {
        /// The last scan handled what it found.
        case none
        /// The last scan left it, with the process pause known then. Not twice in a row: other loops may take long each time.
        case deferred(ProcessPause?)
    }

    let index: Int
    let hot: UnsafeMutablePointer<HotPart>
    let cold: UnsafeMutablePointer<ColdPart>
    // Unowned: the watchdog holds it, and a scan of thousands of loops must not count references.
    unowned(unsafe) let services: WatchServices

    init(_ index: Int, _ services: WatchServices) {
        self.index = index
        hot = services.registry.hotParts + index
        cold = services.registry.coldParts + index
        self.services = services
    }

    /// The loop's present state, for the rules.
    var reading: BeaconReading {
        var reading = BeaconReading(hot.pointee.beacon)
        reading.sampled = cold.pointee.sampled?.sampledStretches
        if reading.word == cold.pointee.examination.quietWord { return reading.atRest }
        guard reading.word == cold.pointee.examination.word else { return reading }
        return reading.begun(notBefore: cold.pointee.examination.resumed)
    }

    // MARK: Arming

    /// Requests the loop to report when the stall in progress is over.
    func arm() {
        switch cold.pointee.detector.activeStall?.lead {
        case .callout: return arm(UInt32(CLB_ARMED_ANY))
        // A loop that counts its waits, and not its idle times, would answer with each turn.
        case .starvation where countsSleeps: return
        case .starvation: break
        // The others find their end without the loop's report; a loop that continues to work would answer with every activity.
        case .ping, .frame, .sample, nil: return
        }
        // A loop that is run for one source at a time answers each time, and continues: then the ticks must suffice.
        guard services.clock() &- clb_beacon_answered_ns(hot.pointee.beacon) > Watchdog.suspicionPollNanoseconds else { return }
        arm(UInt32(CLB_ARMED_REST))
    }

    func arm(_ armed: UInt32) {
        // Another process's loop itself knows which semaphore to post.
        if services.isRemote {
            clb_beacon_rearm(hot.pointee.beacon, armed)
        } else {
            clb_beacon_arm(hot.pointee.beacon, services.semaphore.raw, armed)
        }
    }

    // MARK: Pings

    /// Sends a ping to the loop, or requests it from the relay.
    func ping() {
        guard let loop = cold.pointee.pingable else { return }
        guard loop.pingsWithoutLocking else { return services.relay.requestPing(index) }
        cold.pointee.pingedNanoseconds.store(services.clock(), ordering: .releasing)
        loop.ping()
    }
}
