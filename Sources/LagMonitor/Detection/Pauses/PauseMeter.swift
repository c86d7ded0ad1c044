internal import CLagBeacon
internal import Glibc

/// Decides which of the watchdog's waits and scans show that the process could not run.
///
/// Each begins when the one before ended, so no time lies in between. The watchdog's thread only. What the scheduler says is read
/// (3 µs) where one of them was late, and otherwise now and then: so long as they are on time it can say no more than the
/// clock does.
struct PauseMeter {
    /// What the thread had had from the scheduler by then.
    private struct Reading {
        var times = ThreadTimes.zero
        /// More exact than the one in `times`, which lags behind by a scheduler tick.
        var cpuNanoseconds: UInt64 = 0

        /// A thread that loses its processor between two of the clocks would not know which of them that belongs to.
        private static let attempts = 4
        private static let closeNanoseconds: UInt64 = 200_000

        /// - Parameter last: where the kernel does not say, nothing has come since: then lateness is a process pause, which hides stalls and
        ///   makes none.
        init(_ schedstat: PersistentProcFile, last: ThreadTimes = .zero) {
            for _ in 0..<Self.attempts {
                let before = clb_now_ns()
                times = ThreadTimes(schedstat) ?? last
                var cpu = timespec()
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu)
                cpuNanoseconds = UInt64(cpu.tv_sec) * 1_000_000_000 + UInt64(cpu.tv_nsec)
                if clb_now_ns() - before < Self.closeNanoseconds { break }
            }
        }

        /// For how much of the time since an earlier reading the thread worked, or waited for a processor.
        func accounted(since earlier: Reading) -> UInt64 {
            times.since(earlier.times).runDelayNanoseconds
                .saturatingSum(cpuNanoseconds.saturatingDifference(earlier.cpuNanoseconds))
        }
    }

    private let log: PauseLog
    private let schedstat: PersistentProcFile
    /// Nil where the watchdog's own looks are all that is known of a loop: while it did not look, the loop may have moved.
    private let stealing: StealMeter?
    private var lateness = LatenessGuard()
    private var clocks = ClockWatch(since: .now)
    private var last: Reading
    /// When the next wait or scan began.
    private(set) var now: UInt64
    /// How much the scheduler may have counted since it was read, in waits and scans that were on time.
    private var unreadNanoseconds: UInt64 = 0
    /// 0: this machine has its processors for itself so far.
    private var stolen: UInt64
    /// How often the thread had gone to sleep when the last scan ended.
    private var sleeps: Int
    /// When `stolen` was read.
    private var stolenReadNanoseconds: UInt64 = 0
    /// How often the scheduler was asked: for tests.
    private(set) var readings: UInt64 = 1

    /// A late wait may be held to be the scheduler's doing by so much too much: a fifth of what is late at all. (And by a preemption in
    /// the microsecond between the last reading of the clock and the wait, in one of the few waits before.)
    private static let mostUnreadNanoseconds: UInt64 = 1_000_000
    /// What the hypervisor took longer ago than that is not this wait's.
    private static let stolenAgeNanoseconds: UInt64 = 1_000_000_000

    /// Allocates, and reads each file once.
    init(tid: Int32, log: PauseLog, isSampling: Bool = false) {
        self.log = log
        stealing = isSampling ? nil : StealMeter()
        schedstat = PersistentProcFile(timesOf: tid)
        stolen = stealing?.read() ?? 0
        sleeps = Self.sleepCount()
        last = Reading(schedstat)
        now = clb_now_ns()
    }

    /// Measures a wait that ended in time and one that was late: the first use of a type takes memory in a build without optimisation.
    static func warmUp(tid: Int32) {
        let late: UInt64 = 10_000_000_000
        var meter = PauseMeter(tid: tid, log: PauseLog())
        _ = meter.waitEnded(due: .max, answered: 0)
        meter.now -= min(late, meter.now)
        _ = meter.waitEnded(due: meter.now + 1, answered: 0)
        meter.now -= min(late, meter.now)
        _ = meter.scanEnded(slept: 0, closely: true)
    }

    /// A wait ended.
    /// - Parameters:
    ///   - due: when it was to end; `.max`: never, unless a loop asked for it.
    ///   - answered: when a loop asked for its end; 0: none did.
    ///   - waits: of how many waits since the last scan it is made.
    mutating func waitEnded(due: UInt64, answered: UInt64, waits: Int = 1) -> ProcessPause? {
        let sleptAgain = Self.sleepCount() - sleeps > waits
        let change = clocks.advance(to: .now)
        // A wait without end begins to matter when a loop asks for this thread.
        let begun = due == .max ? max(now, answered) : now
        let processPause = evaluate(from: begun, due: min(due, answered > 0 ? answered : .max), slept: 0, sleptAgain: sleptAgain)
        if processPause != nil || change != .none { recordPauses() }
        return processPause
    }

    /// A scan of all loops ended. It takes some microseconds, or as long as its work and the scheduler make it.
    /// - Parameters:
    ///   - slept: for how long it slept on purpose.
    ///   - closely: a loop may be stalled, so that it matters what a hypervisor takes in the next wait.
    mutating func scanEnded(slept: UInt64, closely: Bool) -> ProcessPause? {
        // Last: what is read here may have to wait for the kernel.
        defer { sleeps = Self.sleepCount() }
        let processPause = evaluate(from: now, due: now, slept: slept, sleptAgain: false)
        if stolen > 0, closely || now &- stolenReadNanoseconds > Self.stolenAgeNanoseconds {
            stolen = stealing?.read() ?? 0
            stolenReadNanoseconds = now
        }
        guard let processPause else { return nil }
        recordPauses()
        // It may also have waited for the kernel, as for a map of memory that a fork holds: most likely it did, for a scan is short, and what stops a process comes
        // at any time.
        return ProcessPause(
            from: processPause.from,
            to: processPause.to,
            atLeast: 0,
            atMost: processPause.atMost,
            likely: 0,
            mostRun: processPause.mostRun
        )
    }

    /// How often the thread has gone to sleep by itself (`ru_nvcsw` of getrusage(2)): 0.3 µs.
    private static func sleepCount() -> Int {
        var usage = rusage()
        // RUSAGE_THREAD, which the overlay of glibc lacks.
        return getrusage(__rusage_who_t(1), &usage) == 0 ? usage.ru_nvcsw : 0
    }

    private mutating func evaluate(from begun: UInt64, due: UInt64, slept: UInt64, sleptAgain: Bool) -> ProcessPause? {
        now = clb_now_ns()
        // It sleeps until the wait is due: what comes then, at most, the scheduler counts. One that ended early says nothing of that.
        unreadNanoseconds = now < due ? .max : unreadNanoseconds.saturatingSum(now.saturatingDifference(max(begun, due)))
        guard unreadNanoseconds > Self.mostUnreadNanoseconds else { return nil }
        let reading = Reading(schedstat, last: last.times)
        readings += 1
        // The time that it took belongs to what it is held against.
        now = clb_now_ns()
        let accounted = reading.accounted(since: last).saturatingSum(slept)
        let (stealing, stolenBefore) = (stealing, stolen)
        last = reading
        unreadNanoseconds = 0
        var stolenSeen = stolen
        let processPause = lateness.evaluate(from: begun, due: due, endedAt: now) {
            var evidence = LatenessGuard.Evidence(runDelayNanoseconds: accounted)
            evidence.sleptAgain = sleptAgain
            stolenSeen = stealing?.read() ?? 0
            evidence.stolenNanoseconds = stolenSeen.saturatingDifference(stolenBefore)
            evidence.uncountedStolenNanoseconds = stolenSeen > 0 ? StealMeter.tickNanoseconds : 0
            return evidence
        }
        // What explained one wait does not explain another.
        stolen = stolenSeen
        return processPause
    }

    private func recordPauses() {
        var pauses = ProcessPauses()
        pauses.processPauses = lateness.processPauses
        pauses.pausedNanoseconds = lateness.pausedNanoseconds
        pauses.suspensions = clocks.suspensionCount
        pauses.suspendedNanoseconds = clocks.suspendedNanoseconds
        pauses.clockSteps = clocks.stepCount
        log.record(pauses)
    }
}
