internal import CLibunwind
internal import Glibc

/// Judges the watchdog's waits and looks: which of them tell that the process could not run.
///
/// Each begins with the reading that the one before ended with, so no time lies in between. The watchdog's thread only. What it
/// reads of the kernel it reads by a file that stays open (1 µs), or only when it matters.
struct PauseMeter {
    /// The time, and what the thread had had from the scheduler by then.
    private struct Reading {
        var now: UInt64 = 0
        var times = ThreadTimes.zero
        /// More exact than the one in `times`, which lags behind by a scheduler tick.
        var cpuNanoseconds: UInt64 = 0

        /// A thread that loses its processor between two of the clocks would not know which of them that belongs to.
        private static let attempts = 4
        private static let closeNanoseconds: UInt64 = 200_000

        /// - Parameter last: where the kernel does not say, nothing has come since: then lateness is a blackout, which hides stalls and
        ///   makes none.
        init(_ schedstat: KeptProcFile, last: ThreadTimes = .zero) {
            for _ in 0..<Self.attempts {
                let before = clu_now_ns()
                times = ThreadTimes(schedstat) ?? last
                var cpu = timespec()
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu)
                cpuNanoseconds = UInt64(cpu.tv_sec) * 1_000_000_000 + UInt64(cpu.tv_nsec)
                now = clu_now_ns()
                if now - before < Self.closeNanoseconds { break }
            }
        }

        /// For how much of the time since an earlier reading the thread worked, or waited for a processor.
        func accounted(since earlier: Reading) -> UInt64 {
            times.since(earlier.times).runDelayNanoseconds
                .saturatingSum(cpuNanoseconds.saturatingDifference(earlier.cpuNanoseconds))
        }
    }

    private let log: PauseLog
    private let schedstat: KeptProcFile
    private let throttling: ThrottleMeter?
    private var lateness = LatenessGuard()
    private var clocks = ClockWatch(since: .now)
    private var last: Reading
    private var throttled: Throttling?
    private var throttledNanoseconds: UInt64 = 0

    /// What the quota took longer ago than that is not this wait's.
    private static let throttledAgeNanoseconds: UInt64 = 1_000_000_000

    /// Allocates, and reads each file once.
    init(tid: Int32, log: PauseLog) {
        self.log = log
        schedstat = KeptProcFile(path: "/proc/self/task/\(tid)/schedstat")
        throttling = ThrottleMeter()
        throttled = throttling?.read()
        last = Reading(schedstat)
    }

    /// Judges a wait that ended in time and one that was late: the first use of a type takes memory in a build without optimisation.
    static func warmUp(tid: Int32) {
        let late: UInt64 = 10_000_000_000
        var meter = PauseMeter(tid: tid, log: PauseLog())
        _ = meter.waitEnded(due: .max, answered: 0)
        meter.last.now -= min(late, meter.last.now)
        _ = meter.waitEnded(due: meter.last.now + 1, answered: 0)
        meter.last.now -= min(late, meter.last.now)
        _ = meter.lookEnded(slept: 0, closely: true)
    }

    /// When what is judged next began.
    var now: UInt64 { last.now }

    /// A wait ended.
    /// - Parameters:
    ///   - due: when it was to end; `.max`: never, unless a loop asked for it.
    ///   - answered: when a loop asked for its end; 0: none did.
    mutating func waitEnded(due: UInt64, answered: UInt64) -> Blackout? {
        let change = clocks.advance(to: .now)
        // A wait without end begins to matter when a loop asks for this thread.
        let begun = due == .max ? max(last.now, answered) : last.now
        let blackout = judge(from: begun, due: min(due, answered > 0 ? answered : .max), slept: 0)
        if blackout != nil || change != .none { note() }
        return blackout
    }

    /// A look at all loops ended. It takes some microseconds, or as long as its work and the scheduler make it.
    /// - Parameters:
    ///   - slept: for how long it slept on purpose.
    ///   - closely: a loop may be stalled, so that it matters what a quota takes in the next wait: 12 µs.
    mutating func lookEnded(slept: UInt64, closely: Bool) -> Blackout? {
        let blackout = judge(from: last.now, due: last.now, slept: slept)
        if closely || last.now &- throttledNanoseconds > Self.throttledAgeNanoseconds {
            throttled = throttling?.read()
            throttledNanoseconds = last.now
        }
        guard let blackout else { return nil }
        note()
        // It may also have waited for the kernel, as for a map of memory that another thread holds.
        return Blackout(from: blackout.from, to: blackout.to, atLeast: 0, atMost: blackout.atMost)
    }

    private mutating func judge(from begun: UInt64, due: UInt64, slept: UInt64) -> Blackout? {
        let reading = Reading(schedstat, last: last.times)
        let accounted = reading.accounted(since: last).saturatingSum(slept)
        let (throttling, before) = (throttling, throttled)
        last = reading
        var seen: Throttling?
        let blackout = lateness.judge(from: begun, due: due, endedAt: reading.now) {
            var evidence = LatenessGuard.Evidence(runDelayNanoseconds: accounted)
            seen = throttling?.read()
            if let before, let seen { evidence.throttledNanoseconds = seen.since(before).throttledNanoseconds }
            return evidence
        }
        // What was held against one wait is not held against another.
        if let seen { throttled = seen }
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
