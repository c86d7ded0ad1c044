/// Judges the watchdog's waits and looks: which of them tell that the process could not run.
///
/// The watchdog's thread only. Each call costs a reading of `/proc`, some 5 µs.
struct PauseMeter {
    private let tid: Int32
    private let log: PauseLog
    private var lateness = LatenessGuard()
    private var marked: ThreadTimes?

    init(tid: Int32, log: PauseLog) {
        self.tid = tid
        self.log = log
    }

    /// What is judged next begins now.
    mutating func mark() { marked = ThreadTimes(tid: tid) }

    /// A wait ended.
    mutating func wait(from begun: UInt64, due: UInt64, endedAt now: UInt64) -> Blackout? {
        let marked = marked
        let blackout = lateness.judge(from: begun, due: due, endedAt: now) { [tid] in
            LatenessGuard.Evidence(runDelayNanoseconds: Self.times(of: tid, since: marked).runDelayNanoseconds)
        }
        if blackout != nil { note() }
        return blackout
    }

    /// A look at all loops ended. It takes some microseconds, or as long as its work and the scheduler make it.
    mutating func look(from begun: UInt64, endedAt now: UInt64) -> Blackout? {
        let marked = marked
        let blackout = lateness.judge(from: begun, due: begun, endedAt: now) { [tid] in
            let times = Self.times(of: tid, since: marked)
            return LatenessGuard.Evidence(runDelayNanoseconds: times.runDelayNanoseconds.saturatingSum(times.cpuNanoseconds))
        }
        if blackout != nil { note() }
        return blackout
    }

    /// Nothing where the kernel does not say: then lateness is a blackout, which hides stalls and makes none.
    private static func times(of tid: Int32, since marked: ThreadTimes?) -> ThreadTimes {
        guard let marked, let now = ThreadTimes(tid: tid) else { return ThreadTimes(cpuNanoseconds: 0, runDelayNanoseconds: 0) }
        return now.since(marked)
    }

    private func note() {
        var pauses = ProcessPauses()
        pauses.blackouts = lateness.blackouts
        pauses.blackedOutNanoseconds = lateness.blackedOutNanoseconds
        log.note(pauses)
    }
}
