import Glibc
import LagMonitor
import TestSupport

/// A real stall across a SIGSTOP is reported, and the stop is not in its duration; what it leaves open is reported.
enum AcrossStop {
    static func check() throws {
        let (reported, monitor, thread) = try Probe.watchedThread()
        thread.perform {
            // Counted in work, not in time: the stop makes it last longer, and no shorter.
            for _ in 0..<500 { usleep(1000) }
        }
        usleep(200_000)
        StopSignal.stopOneself(milliseconds: 900)
        if !eventually({ reported.records.count == 1 }) { Probe.fail("\(reported.records.count) records") }
        let record = reported.records[0]
        guard let excluded = record.excludedNanoseconds, let bounds = record.durationBounds else { Probe.fail("\(record)") }
        // The stop lasts 900 ms or more; without it the work takes some 550.
        if excluded < 850_000_000 || record.durationNanoseconds > excluded { Probe.fail("\(record)") }
        if !bounds.contains(record.durationNanoseconds) { Probe.fail("\(record)") }
        // What is open is a closer look's length, and what the watchdog waits for a processor on a busy machine.
        if bounds.upperBound - bounds.lowerBound > excluded / 4 { Probe.fail("\(bounds) are open") }
        let pauses = monitor.statistics.pauses
        if pauses.processPauses == 0 || pauses.paused < .milliseconds(800) { Probe.fail("\(pauses)") }
        monitor.stop()
    }
}
