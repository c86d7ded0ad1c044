internal import CLagLinux
internal import LagActivity
internal import LagCapture
internal import Synchronization

extension Watch {
    /// The larger part of a watch; a scan that finds the loop moving on does not touch it.
    ///
    /// The atomics are for any thread, `times` belongs to the registry again once the watch is retired, and everything else to
    /// the watchdog.
    ///
    /// `target` comes first: ThreadSanitizer records an access that changes the whole part as an access to its first field, and
    /// other threads do not read the watchdog's field.
    struct ColdPart: ~Copyable {
        /// The thread to sample; for an unpinned loop, the one that worked for it when it was last sampled.
        var target: ThreadIdentity

        let stalls = Atomic<UInt64>(0)
        let dropped = Atomic<UInt64>(0)
        let suppressed = Atomic<UInt64>(0)
        /// Stalls that did not count, because a debugger held the loop.
        let dismissed = Atomic<UInt64>(0)
        /// When the watch was last resumed, `CLOCK_MONOTONIC`. Written by the registry.
        let resumedNanoseconds = Atomic<UInt64>(0)
        /// When a ping was last sent to the loop, `CLOCK_MONOTONIC`. Written by the thread that sends it.
        let pingedNanoseconds = Atomic<UInt64>(0)

        /// When an immediate report of a stall in progress was last requested, `CLOCK_MONOTONIC`; 0: never. Written by the
        /// registry.
        let reportRequested = Atomic<UInt64>(0)

        // Kept alive by the registration, which is released after the watch is retired.
        unowned(unsafe) let pingable: (any PingableLoop)?
        unowned(unsafe) let examinable: (any ExaminableLoop)?
        unowned(unsafe) let queue: (any CountableQueue)?
        unowned(unsafe) let sampled: (any SampledLoop)?
        /// The same loop, if it is a thread of a pool.
        unowned(unsafe) let poolWorker: (any JobLoop)?
        unowned(unsafe) let unpinned: (any UnpinnedLoop)?
        unowned(unsafe) let threadPool: (any ThreadPoolLoop)?
        unowned(unsafe) let ticks: TickCell?
        /// The thread's scheduler figures. They are read for a thread of another process, whose CPU clock cannot be read (as of
        /// its last tick), and if there is a quota. Nil for an unpinned loop of this process.
        var times: PersistentProcFile?

        var detector: StallDetector
        var condition = Condition.quiet
        var deferral = Deferral.none
        /// Whether another process's thread is stopped.
        var hold = Hold()
        /// Whether it keeps work waiting.
        var examination = Examination()
        var unreportedEnd = UnreportedEnd()
        /// What its waits show about its idle times.
        let waits: PublishedWaits
        /// What runs it, if its functions' names do not show that.
        var knownLoop = KnownLoop()
        /// The meter for a rule that needs the idle times, if the waits do not show enough.
        var rests = RestMeter()
        /// Whether the rules last saw it as idle (``BeaconReading/atRest``).
        var isShownAtRest = false
        /// What the thread runs, as far as it was read.
        var running = LatestRunning()
        /// What the thread has used.
        var usage = UsageMeter()

        /// - Parameter ignoreBefore: nothing before it counts.
        init(
            _ loop: any ObservableLoop,
            target: ThreadIdentity,
            ticks: TickCell?,
            times: PersistentProcFile?,
            rules: WatchRules,
            ignoreBefore: UInt64
        ) {
            self.target = target
            pingable = loop as? any PingableLoop
            examinable = loop as? any ExaminableLoop
            queue = loop as? any CountableQueue
            waits = examinable?.waits ?? .rests
            sampled = loop as? any SampledLoop
            poolWorker = loop as? any JobLoop
            unpinned = loop as? any UnpinnedLoop
            threadPool = loop as? any ThreadPoolLoop
            self.ticks = ticks
            self.times = times
            detector = StallDetector(rules: rules, ignoreBefore: ignoreBefore)
        }

        var counters: WatchCounters {
            WatchCounters(
                stalls: stalls.load(ordering: .relaxed),
                dropped: dropped.load(ordering: .relaxed),
                suppressed: suppressed.load(ordering: .relaxed),
                dismissed: dismissed.load(ordering: .relaxed)
            )
        }

        var isPaused: Bool {
            if case .paused = condition { true } else { false }
        }

        /// The stall in progress; nil if there is none, and then setting it does nothing.
        var recording: StallRecording? {
            get {
                if case .stalled(let recording) = condition { recording } else { nil }
            }
            set {
                if case .stalled = condition, let newValue { condition = .stalled(newValue) }
            }
        }

        /// The thread's state at the first sign of a stall, or when its stack was last sampled.
        var earlier: ThreadState? {
            get {
                switch condition {
                case .quiet, .paused: nil
                case .suspicious(let state): state
                case .stalled(let recording): recording.earlier
                }
            }
            set {
                switch condition {
                // Without `map`: generic code allocates when it is first used with a type.
                case .quiet, .suspicious: if let newValue { condition = .suspicious(newValue) } else { condition = .quiet }
                case .stalled(var recording):
                    recording.earlier = newValue
                    condition = .stalled(recording)
                case .paused: break
                }
            }
        }

        /// The process pause that a deferred observation did not see. It is used now.
        mutating func takeDeferredPause() -> ProcessPause? {
            guard case .deferred(let processPause) = deferral else { return nil }
            deferral = .deferred(nil)
            return processPause
        }

        /// The first use of a type allocates.
        static func warmUp() {
            var condition = Condition.quiet
            for _ in 0..<2 {
                if case .suspicious(let state) = condition {
                    condition = .stalled(StallRecording(sinceNanoseconds: 0, activity: .waiting, episode: nil, earlier: state))
                }
                if case .quiet = condition, let state = ThreadState(tid: cll_gettid()) { condition = .suspicious(state) }
            }
            _ = condition
        }
    }
}
