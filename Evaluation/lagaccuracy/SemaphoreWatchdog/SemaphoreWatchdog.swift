internal import LagMonitor
internal import LagWorkload
internal import Synchronization

/// The detector of the seeds, as they have it: an observer of all activities stores each and signals a semaphore; a thread waits on
/// that with a timeout (``SemaphoreWatchdogRule``). Two rules hear of the same waits, so that both stand for the same events.
///
/// Its faults are kept: one wake for each activity; a wait that follows the wall clock; a state check that knows two activities;
/// a hang reported again and again; no notion of how long a stall was, nor of the watchdog's own lateness.
final class SemaphoreWatchdog: Sendable {
    private let semaphore: RealtimeSemaphore
    private let activity = Atomic<UInt8>(0)
    private let wakeCount = Atomic<UInt64>(0)
    private let reports = Mutex<
        (original: [TargetReport.SemaphoreWatchdogReport], extended: [TargetReport.SemaphoreWatchdogReport])
    >(([], []))

    init(semaphore: RealtimeSemaphore) { self.semaphore = semaphore }

    /// Waits of the watchdog that ended.
    var wakes: UInt64 { wakeCount.load(ordering: .relaxed) }

    func attach(to loop: ObservedRunLoop) throws {
        loop.add(RunLoopObserver { [self] _, activity in record(activity) }, to: .common)
        try WorkloadThread.start { [self] in watch() }
    }

    /// What it reported: the rule of seed 000, and the one with `beforeWaiting`.
    var found: (original: [TargetReport.SemaphoreWatchdogReport], extended: [TargetReport.SemaphoreWatchdogReport]) {
        reports.withLock { $0 }
    }

    private func record(_ notified: LoopActivity) {
        let now: SemaphoreWatchdogRule.Activity =
            switch notified {
            case .beforeSources: .beforeSources
            case .afterWaiting: .afterWaiting
            case .beforeWaiting: .beforeWaiting
            default: .other
            }
        activity.store(now.rawValue, ordering: .releasing)
        semaphore.post()
    }

    /// Never ends, as in the seeds: the process does.
    private func watch() {
        var original = SemaphoreWatchdogRule(countsBeforeWaiting: false)
        var extended = SemaphoreWatchdogRule(countsBeforeWaiting: true)
        var run: UInt64 = 0
        while true {
            let timedOut = !semaphore.wait(nanoseconds: SemaphoreWatchdogRule.intervalNanoseconds)
            wakeCount.add(1, ordering: .relaxed)
            if !timedOut { run += 1 }
            let present = SemaphoreWatchdogRule.Activity(rawValue: activity.load(ordering: .acquiring)) ?? .other
            let isOriginal = original.waitEnded(timedOut: timedOut, activity: present)
            let isExtended = extended.waitEnded(timedOut: timedOut, activity: present)
            guard isOriginal || isExtended else { continue }
            let report = TargetReport.SemaphoreWatchdogReport(time: MonotonicTime.now.nanoseconds, run: run)
            reports.withLock { reports in
                if isOriginal { reports.original.append(report) }
                if isExtended { reports.extended.append(report) }
            }
        }
    }
}
