import Glibc
import LagMonitor
import Synchronization
import TestSupport

/// A real stall across a SIGSTOP is reported without the stop in its duration; the uncertainty is reported.
enum AcrossStop {
    private static let leastStop: UInt64 = 850_000_000

    /// Work that continues until the stop is over, however late that is, and measures itself.
    private final class Work: Sendable {
        let isStopOver = Atomic<Bool>(false)
        private let times = Mutex<(begin: UInt64, end: UInt64, away: UInt64)>((0, 0, 0))

        var hasBegun: Bool { times.withLock { $0.begin > 0 } }
        var nanoseconds: UInt64 { times.withLock { $0.end - $0.begin } }
        /// The time that the thread missed: it contains the stop.
        var awayNanoseconds: UInt64 { times.withLock { $0.away } }

        func run() {
            let begin = MonotonicTime.now.nanoseconds
            times.withLock { $0.begin = begin }
            var (last, away) = (begin, UInt64(0))
            while !isStopOver.load(ordering: .acquiring) {
                usleep(1000)
                let now = MonotonicTime.now.nanoseconds
                if now - last > 5_000_000 { away += now - last }
                last = now
            }
            times.withLock { [last, away] in ($0.end, $0.away) = (last, away) }
        }
    }

    static func check() throws {
        let (reported, monitor, thread) = try Probe.watchedThread()
        // A watchdog that gets no processor around the stop cannot separate the two: then the stop is uncertain, in the bounds.
        var (attempts, isExcluded) = (0, false)
        for attempt in Attempts("a stop that is excluded") {
            attempts = attempt
            reported.clear()
            isExcluded = isStopExcluded(reported, monitor, thread)
            if isExcluded { break }
        }
        if !isExcluded { Probe.fail("the stop is always uncertain: \(reported.records)") }
        let pauses = monitor.statistics.pauses
        if pauses.processPauses < UInt64(attempts) || pauses.paused < .milliseconds(800 * attempts) {
            Probe.fail("\(pauses) in \(attempts) attempts")
        }
        monitor.stop()
        // Another watchdog, and the same process.
        try monitor.start()
        if monitor.statistics.pauses.paused < pauses.paused { Probe.fail("\(monitor.statistics)") }
        monitor.stop()
    }

    /// One stall with one stop. Whatever is uncertain, the record's times must hold.
    /// - Returns: whether the stop is excluded: the uncertainty is the length of a fast poll, plus the watchdog's wait for a
    ///   processor.
    private static func isStopExcluded(_ reported: CollectedRecords, _ monitor: StallMonitor, _ thread: KeepAliveThread) -> Bool {
        let work = Work()
        let submitted = MonotonicTime.now.nanoseconds
        thread.perform { work.run() }
        if !eventually({ work.hasBegun }) { Probe.fail("the work does not begin") }
        usleep(200_000)
        StopSignal.stopOneself(milliseconds: 900)
        work.isStopOver.store(true, ordering: .releasing)
        if !eventually({ reported.records.count == 1 }) { Probe.fail("\(reported.records.count) records") }
        if !eventually({ thread.loop.beacon.activity == .waiting }) { Probe.fail("the loop does not come to rest") }
        let wall = MonotonicTime.now.nanoseconds - submitted
        let record = reported.records[0]
        let excluded = record.excludedNanoseconds ?? 0
        let bounds = record.durationBounds ?? record.durationNanoseconds...record.durationNanoseconds
        // The stop lasts 900 ms or more, and no longer than the thread was away. Both times are equally uncertain.
        let open = bounds.upperBound - bounds.lowerBound
        if excluded + open < leastStop || bounds.lowerBound + leastStop > wall { Probe.fail("\(wall) ns: \(record)") }
        if bounds.upperBound + work.awayNanoseconds < work.nanoseconds {
            Probe.fail("\(work.nanoseconds) ns, away for \(work.awayNanoseconds): \(record)")
        }
        if !bounds.contains(record.durationNanoseconds) { Probe.fail("\(record)") }
        return open <= excluded / 4
    }
}
