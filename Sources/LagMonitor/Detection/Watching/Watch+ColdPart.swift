internal import CLagLinux
internal import LagActivity
internal import LagCapture
internal import Synchronization

extension Watch {
    /// The larger part of a watch, which a scan that finds the loop moving on does not touch.
    ///
    /// The atomics are for any thread, `times` is the registry's again once the watch is retired, and all else is the watchdog's.
    ///
    /// `target` comes first: an access that changes the whole part is recorded, by ThreadSanitizer, as one of its first field, and that of
    /// the watchdog is no access to what other threads read.
    struct ColdPart: ~Copyable {
        /// The thread to sample; of an unpinned loop the one that worked for it when it was last sampled.
        var target: ThreadIdentity

        let stalls = Atomic<UInt64>(0)
        let dropped = Atomic<UInt64>(0)
        let suppressed = Atomic<UInt64>(0)
        /// Stalls that did not count, because a debugger held the loop.
        let dismissed = Atomic<UInt64>(0)
        /// When the watch was last resumed, `CLOCK_MONOTONIC`. Written by the registry.
        let resumed = Atomic<UInt64>(0)
        /// When a ping was last given to the loop, `CLOCK_MONOTONIC`. Written by whoever gives it.
        let pinged = Atomic<UInt64>(0)

        /// When it was last asked that a stall in progress be reported at once, `CLOCK_MONOTONIC`; 0: never. Written by the registry.
        let reportRequested = Atomic<UInt64>(0)

        // Kept alive by the registration, which is released after the watch is retired.
        unowned(unsafe) let pingable: (any PingableLoop)?
        unowned(unsafe) let examinable: (any ExaminableLoop)?
        unowned(unsafe) let queue: (any CountableQueue)?
        unowned(unsafe) let sampled: (any SampledLoop)?
        /// The same, where it is a thread of a pool.
        unowned(unsafe) let poolWorker: (any JobLoop)?
        unowned(unsafe) let unpinned: (any UnpinnedLoop)?
        unowned(unsafe) let threadPool: (any ThreadPoolLoop)?
        unowned(unsafe) let ticks: TickCell?
        /// What the scheduler says of the thread: read of one of another process, whose CPU clock cannot be read (as of its last tick), and where
        /// there is a quota. Nil for an unpinned loop of this process.
        var times: PersistentProcFile?

        var detector: StallDetector
        var condition = Condition.quiet
        var deferral = Deferral.none
        /// Whether another process's thread is stopped.
        var hold = Hold()
        /// Whether it keeps work waiting.
        var examination = Examination()
        /// What its waits say of its rests.
        let waits: PublishedWaits
        /// What runs it, where its functions' names do not say so.
        var loopStack = LoopStack()
        /// By which calls it came to its wait.
        var loopCalls = LoopCalls()
        /// When these are to be taken again.
        var loopStackDue: UInt64 = 0
        /// After how long, where they cannot be had.
        var loopStackRetry = Watch.firstLoopStackRetryNanoseconds
        /// Where they do not say enough, and a rule wants to know.
        var rests = RestMeter()
        /// Whether the rules saw it last as if it rested (``BeaconReading/atRest``).
        var isShownAtRest = false
        /// What the thread runs, as far as it was read.
        var running = LatestRunning()
        /// What the thread has used.
        var usage = UsageMeter()

        /// - Parameter ignoreBefore: nothing before that counts.
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

        /// The stall in progress; nil without a stall, and then setting it changes nothing.
        var recording: StallRecording? {
            get {
                if case .stalled(let recording) = condition { recording } else { nil }
            }
            set {
                if case .stalled = condition, let newValue { condition = .stalled(newValue) }
            }
        }

        /// What the thread did at the first sign of a stall, or when its stack was last sampled.
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
                // Without `map`: generic code takes memory when it is first used with a type.
                case .quiet, .suspicious: if let newValue { condition = .suspicious(newValue) } else { condition = .quiet }
                case .stalled(var recording):
                    recording.earlier = newValue
                    condition = .stalled(recording)
                case .paused: break
                }
            }
        }

        /// The process pause that a deferred observation did not get to see. It is seen now.
        mutating func takeDeferredPause() -> ProcessPause? {
            guard case .deferred(let processPause) = deferral else { return nil }
            deferral = .deferred(nil)
            return processPause
        }

        /// The first use of a type takes memory.
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
