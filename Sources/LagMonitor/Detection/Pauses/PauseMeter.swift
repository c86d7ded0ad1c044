internal import CLagBeacon
internal import Glibc
internal import LagModel

/// Decides which of the watchdog's waits and scans show that the process could not run.
///
/// Each begins when the one before ended, so there are no gaps. The watchdog's thread only. The scheduler's figures are read (3
/// µs) if one of them was late, and otherwise now and then: while they are on time, the figures add nothing to the clock.
struct PauseMeter {
    /// The thread's scheduler figures at some time.
    private struct Reading {
        var times = ThreadTimes.zero
        /// More exact than the one in `times`, which lags behind by a scheduler tick.
        var cpuNanoseconds: UInt64 = 0

        /// If a thread loses its processor between two of the clocks, it is unknown to which of them the time belongs.
        private static let attempts = 4
        private static let closeNanoseconds: UInt64 = 200_000

        /// - Parameter last: the figures if the kernel does not report any: then nothing has been added since, so lateness counts
        ///   as a process pause, which hides stalls and causes none.
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

        /// How long since an earlier reading the thread worked, or waited for a processor.
        func accounted(since earlier: Reading) -> UInt64 {
            times.since(earlier.times).runDelayNanoseconds
                .saturatingSum(cpuNanoseconds.saturatingDifference(earlier.cpuNanoseconds))
        }
    }

    private let log: PauseLog
    private let schedstat: PersistentProcFile
    /// Nil if the watchdog's own samples are the only information about a loop: while it did not sample, the loop may have moved.
    private let stealing: StealMeter?
    private var lateness = LatenessGuard()
    private var clocks = ClockWatch(since: .now)
    private var last: Reading
    /// When the next wait or scan began.
    private(set) var now: UInt64
    /// How much the scheduler may have counted since it was read, in waits and scans that were on time.
    private var unreadNanoseconds: UInt64 = 0
    /// 0: this machine has had its processors to itself so far.
    private var stolen: UInt64
    /// How often the thread had gone to sleep when the last scan ended.
    private var sleeps: Int
    /// When `stolen` was read.
    private var stolenReadNanoseconds: UInt64 = 0
    /// How often the scheduler's figures were read: for tests.
    private(set) var readings: UInt64 = 1

    /// A late wait may be attributed to the scheduler with this much error: a fifth of the least lateness. (The same is true of a
    /// preemption in the microsecond between the last reading of the clock and the wait, in one of the few waits before.)
    private static let mostUnreadNanoseconds: UInt64 = 1_000_000
    /// Steal time longer ago than this does not belong to this wait.
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

    /// Measures a wait that ended in time and one that was late: the first use of a type allocates in an unoptimised build.
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
    ///   - due: when it was to end; `.max`: never, unless a loop requested it.
    ///   - answered: when a loop requested its end; 0: none did.
    ///   - waits: of how many waits since the last scan it consists.
    mutating func waitEnded(due: UInt64, answered: UInt64, waits: Int = 1) -> ProcessPause? {
        let sleptAgain = Self.sleepCount() - sleeps > waits
        let change = clocks.advance(to: .now)
        // A wait without a deadline starts to matter when a loop posts to this thread.
        let begun = due == .max ? max(now, answered) : now
        let processPause = evaluate(from: begun, due: min(due, answered > 0 ? answered : .max), slept: 0, sleptAgain: sleptAgain)
        if processPause != nil || change != .none { recordPauses() }
        return processPause
    }

    /// A scan of all loops ended. It takes some microseconds, or as long as its work and the scheduler require.
    /// - Parameters:
    ///   - slept: how long it slept on purpose.
    ///   - closely: a loop may be stalled, so the steal time in the next wait matters.
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
        // It may also have waited for the kernel, for example for a memory map that a fork holds. That is most likely: a scan is
        // short, while a process may be stopped at any time.
        return ProcessPause(
            from: processPause.from,
            to: processPause.to,
            atLeast: 0,
            atMost: processPause.atMost,
            likely: 0,
            mostRun: processPause.mostRun
        )
    }

    /// How often the thread has gone to sleep voluntarily (`ru_nvcsw` of getrusage(2)): 0.3 µs.
    private static func sleepCount() -> Int {
        var usage = rusage()
        // RUSAGE_THREAD, which the Glibc overlay lacks.
        return getrusage(__rusage_who_t(1), &usage) == 0 ? usage.ru_nvcsw : 0
    }

    private mutating func evaluate(from begun: UInt64, due: UInt64, slept: UInt64, sleptAgain: Bool) -> ProcessPause? {
        now = clb_now_ns()
        // It sleeps until the wait is due: at most the time after that is counted by the scheduler. A wait that ended early shows
        // nothing about it.
        unreadNanoseconds = now < due ? .max : unreadNanoseconds.saturatingSum(now.saturatingDifference(max(begun, due)))
        guard unreadNanoseconds > Self.mostUnreadNanoseconds else { return nil }
        let reading = Reading(schedstat, last: last.times)
        readings += 1
        // The time for this belongs to the period with which it is compared.
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
