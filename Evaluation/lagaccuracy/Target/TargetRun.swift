internal import Dispatch
internal import Foundation
internal import Glibc
internal import LagDetection
internal import LagMonitor
internal import LagWorkload

/// The process that is stalled: the main thread's run loop, with both detectors and the oracle on it.
struct TargetRun {
    let condition: Condition
    let plan: InjectionPlan
    let seed: UInt64
    /// The descriptor for steps of the real clock; nil: the clock of the observer-and-semaphore watchdog is simulated.
    let clockSetter: Int32?

    /// Idle time before the first stall and after the last, in which the last records arrive.
    private static let margin: Duration = .milliseconds(250)

    /// Runs the plan; on the main thread.
    func execute() throws -> TargetReport {
        let loop = ObservedRunLoop.main
        let oracle = Oracle()
        let semaphore = RealtimeSemaphore(isFaked: condition == .stepped && clockSetter == nil)
        let semaphoreWatchdog = SemaphoreWatchdog(semaphore: semaphore)
        let collector = MonitorReportCollector()
        var configuration = StallMonitorConfiguration()
        configuration.hangAfter = .zero
        // No limit, because every record is compared with the truth.
        configuration.limits = .none
        let monitor = StallMonitor(configuration: configuration)
        let handler = monitor.onStall(queue: DispatchQueue(label: "records")) { collector.take($0) }
        try monitor.start()
        try monitor.watch(loop)
        oracle.attach(to: loop)
        try semaphoreWatchdog.attach(to: loop)

        let stepper = ClockStepper(seed: seed, semaphore: semaphore, setter: clockSetter)
        let injector = try Injector(loop: loop, plan: plan, oracle: oracle) {
            loop.add(RunLoopTimer(after: Self.margin) { _ in loop.stop() }, to: .common)
        }
        let busyWork = BusyWork(loop: loop, oracle: oracle)
        if condition == .busy { busyWork.start() }
        if condition == .stepped { try stepper.start() }
        loop.add(RunLoopTimer(after: Self.margin) { _ in injector.arm() }, to: .common)

        print("ready")
        fflush(nil)
        let delayBefore = RunDelay.ofLoopAndWatchdog
        let begin = MonotonicTime.now
        loop.run()
        let end = MonotonicTime.now
        let delayAfter = RunDelay.ofLoopAndWatchdog
        let monitorWakes = monitor.watchdogCounters?.wakes ?? 0
        let semaphoreWatchdogWakes = semaphoreWatchdog.wakes
        stepper.stop()
        monitor.stop()
        // The handler's queue has had some time; reports that are still in transit are counted below.
        usleep(Self.deliveryMicroseconds)

        var report = TargetReport()
        oracle.harvest(into: &report)
        report.monitorReports = collector.monitorReports
        (report.semaphoreWatchdog, report.semaphoreWatchdogBeforeWaiting) = semaphoreWatchdog.found
        report.monitorWakes = monitorWakes
        report.semaphoreWatchdogWakes = semaphoreWatchdogWakes
        report.callbacks = busyWork.count
        report.clockSteps = stepper.steps
        report.nanoseconds = UInt64(max(0, (end - begin).wholeNanoseconds))
        report.runDelayNanoseconds = delayAfter > delayBefore ? delayAfter - delayBefore : 0
        report.lost = handler.missed + monitor.statistics.dropped
        return report
    }

    private static let deliveryMicroseconds: UInt32 = 100_000
}
