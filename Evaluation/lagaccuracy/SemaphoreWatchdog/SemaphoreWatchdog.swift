internal import LagMonitor
internal import LagWorkload
internal import Synchronization

/// The observer-and-semaphore watchdog in its common form: an observer of all activities stores each activity and signals a
/// semaphore, and a thread waits on the semaphore with a timeout (``SemaphoreWatchdogRule``). Two variants of the rule get the
/// same waits, so that both see the same events.
///
/// Its faults are kept: a wake for each activity; a wait that follows the wall clock; a state check that knows two activities;
/// repeated reports of a hang; no duration of a stall, and no check whether the watchdog itself was late.
final class SemaphoreWatchdog: Sendable {
    private let semaphore: RealtimeSemaphore
    private let activity = Atomic<UInt8>(0)
    private let wakeCount = Atomic<UInt64>(0)
    private let reports = Mutex<
        (original: [TargetReport.SemaphoreWatchdogReport], extended: [TargetReport.SemaphoreWatchdogReport])
    >(([], []))

    init(semaphore: RealtimeSemaphore) { self.semaphore = semaphore }

    /// The number of the watchdog's waits that have ended.
    var wakes: UInt64 { wakeCount.load(ordering: .relaxed) }

    func attach(to loop: ObservedRunLoop) throws {
        loop.add(RunLoopObserver { [self] _, activity in record(activity) }, to: .common)
        try WorkloadThread.start { [self] in watch() }
    }

    /// The reports of the original rule, and of the rule that counts `beforeWaiting` as work.
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

    /// Runs until the process exits, as in the common form.
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
