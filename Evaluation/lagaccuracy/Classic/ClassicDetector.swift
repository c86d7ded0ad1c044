internal import LagMonitor
internal import LagWorkload
internal import Synchronization

/// The detector of the seeds, as they have it: an observer of all activities stores each and signals a semaphore; a thread waits on
/// that with a timeout (``ClassicRule``). Two rules hear of the same waits, so that both stand for the same events.
///
/// Its faults are kept: one wake for each activity; a wait that follows the wall clock; a state check that knows two activities;
/// a hang reported again and again; no notion of how long a stall was, nor of the watchdog's own lateness.
final class ClassicDetector: Sendable {
    private let semaphore: RealtimeSemaphore
    private let activity = Atomic<UInt8>(0)
    private let wakeCount = Atomic<UInt64>(0)
    private let reports = Mutex<(seed: [TargetReport.ClassicReport], extended: [TargetReport.ClassicReport])>(([], []))

    init(semaphore: RealtimeSemaphore) { self.semaphore = semaphore }

    /// Waits of the watchdog that ended.
    var wakes: UInt64 { wakeCount.load(ordering: .relaxed) }

    func attach(to loop: ObservedRunLoop) throws {
        loop.add(RunLoopObserver { [self] _, activity in note(activity) }, to: .common)
        try WorkerThread.start { [self] in watch() }
    }

    /// What it reported: the rule of seed 000, and the one with `beforeWaiting`.
    var found: (seed: [TargetReport.ClassicReport], extended: [TargetReport.ClassicReport]) { reports.withLock { $0 } }

    private func note(_ told: LoopActivity) {
        let now: ClassicRule.Activity =
            switch told {
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
        var seed = ClassicRule(countsBeforeWaiting: false)
        var extended = ClassicRule(countsBeforeWaiting: true)
        var run: UInt64 = 0
        while true {
            let timedOut = !semaphore.wait(nanoseconds: ClassicRule.intervalNanoseconds)
            wakeCount.add(1, ordering: .relaxed)
            if !timedOut { run += 1 }
            let present = ClassicRule.Activity(rawValue: activity.load(ordering: .acquiring)) ?? .other
            let isSeed = seed.waitEnded(timedOut: timedOut, activity: present)
            let isExtended = extended.waitEnded(timedOut: timedOut, activity: present)
            guard isSeed || isExtended else { continue }
            let report = TargetReport.ClassicReport(time: MonotonicTime.now.nanoseconds, run: run)
            reports.withLock { reports in
                if isSeed { reports.seed.append(report) }
                if isExtended { reports.extended.append(report) }
            }
        }
    }
}
