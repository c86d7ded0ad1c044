internal import CLibunwind
internal import Glibc

/// Judges the watchdog's waits and looks: which of them tell that the process could not run.
///
/// The watchdog's thread only. What it has to read of the kernel it reads by a file that stays open, or only when it matters.
struct PauseMeter {
    /// How things were when what is judged next began.
    private struct Marks {
        let schedstat: KeptProcFile
        let throttling: ThrottleMeter?
        var times: ThreadTimes?
        var cpuNanoseconds: UInt64 = 0
        var throttled: Throttling?

        mutating func set(closely: Bool) {
            times = ThreadTimes(schedstat)
            cpuNanoseconds = Self.cpuNow
            if closely { throttled = throttling?.read() }
        }

        /// What has come since. Where the kernel does not say, lateness is a blackout, which hides stalls and makes none.
        func evidence() -> LatenessGuard.Evidence {
            var evidence = LatenessGuard.Evidence()
            if let times, let present = ThreadTimes(schedstat) {
                evidence.runDelayNanoseconds = present.since(times).runDelayNanoseconds
            }
            if let throttled, let present = throttling?.read() {
                evidence.throttledNanoseconds = present.since(throttled).throttledNanoseconds
            }
            return evidence
        }

        /// The same, with the work of the watchdog itself: exact, while `schedstat` lags behind by a scheduler tick.
        func evidenceWithOwnWork() -> LatenessGuard.Evidence {
            var evidence = evidence()
            let own = Self.cpuNow.saturatingDifference(cpuNanoseconds)
            evidence.runDelayNanoseconds = evidence.runDelayNanoseconds.saturatingSum(own)
            return evidence
        }

        private static var cpuNow: UInt64 {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        }
    }

    private let log: PauseLog
    private var lateness = LatenessGuard()
    private var clocks = ClockWatch(since: .now)
    private var marks: Marks

    /// Allocates, and reads each file once.
    init(tid: Int32, log: PauseLog) {
        self.log = log
        marks = Marks(schedstat: KeptProcFile(path: "/proc/self/task/\(tid)/schedstat"), throttling: ThrottleMeter())
        marks.set(closely: true)
    }

    /// What is judged next begins now. About 1 µs.
    /// - Parameter closely: a loop may be stalled, so that it matters what a quota takes in this very wait: 12 µs more.
    mutating func mark(closely: Bool) { marks.set(closely: closely) }

    /// A wait ended.
    mutating func wait(from begun: UInt64, due: UInt64, endedAt now: UInt64) -> Blackout? {
        let change = clocks.advance(to: .now)
        let blackout = lateness.judge(from: begun, due: due, endedAt: now, evidence: marks.evidence)
        if blackout != nil || change != .none { note() }
        return blackout
    }

    /// A look at all loops ended. It takes some microseconds, or as long as its work and the scheduler make it.
    mutating func look(from begun: UInt64, endedAt now: UInt64) -> Blackout? {
        let blackout = lateness.judge(from: begun, due: begun, endedAt: now, evidence: marks.evidenceWithOwnWork)
        if blackout != nil { note() }
        return blackout
    }

    private func note() {
        var pauses = ProcessPauses()
        pauses.blackouts = lateness.blackouts
        pauses.blackedOutNanoseconds = lateness.blackedOutNanoseconds
        pauses.throttledNanoseconds = lateness.throttledNanoseconds
        pauses.suspensions = clocks.suspensionCount
        pauses.suspendedNanoseconds = clocks.suspendedNanoseconds
        pauses.clockSteps = clocks.stepCount
        log.note(pauses)
    }
}
