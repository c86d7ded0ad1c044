internal import LagDetection
internal import LagMonitor
internal import LagRunLoop

/// The number of the watchdog's wakes in five seconds, while every watched loop waits.
struct WatchdogWakesIdle: Benchmark {
    let name = "watchdog_wakes_idle"
    let unit = "count"
    let targets = [Target(.value, .atMost(0))]

    private static let loops = 8
    private static let settleMilliseconds = 300.0
    private static let milliseconds = 5_000.0

    func run() throws -> [BenchLine] {
        let monitor = StallMonitor()
        try monitor.start()
        defer { monitor.stop() }
        let threads = try (0..<Self.loops).map { try KeepAliveThread(name: "bench-idle-\($0)") }
        defer {
            for thread in threads { thread.stop() }
            for thread in threads { thread.join() }
        }
        for thread in threads { try monitor.watch(thread.loop) }
        // An observer-and-semaphore watchdog of a loop that also waits.
        let semaphoreWatchdog = try SemaphoreWatchdog()
        let semaphoreWatchdogLoop = try CoreFoundationLoop(observer: semaphoreWatchdog) {}
        defer {
            semaphoreWatchdogLoop.stop()
            semaphoreWatchdog.stop()
        }
        Pause.sleep(milliseconds: Self.settleMilliseconds)
        let (before, semaphoreWatchdogBefore) = (try wakes(of: monitor), semaphoreWatchdog.wakes)
        Pause.sleep(milliseconds: Self.milliseconds)
        let (after, semaphoreWatchdogAfter) = (try wakes(of: monitor), semaphoreWatchdog.wakes)
        return [
            BenchLine(name, Double(after - before), unit)
                .comparing(with: "semaphore_watchdog", Double(semaphoreWatchdogAfter - semaphoreWatchdogBefore))
                .annotating("loops", Self.loops)
        ]
    }

    private func wakes(of monitor: StallMonitor) throws -> UInt64 {
        guard let counters = monitor.watchdogCounters else { throw BenchmarkFailure("the monitor does not run") }
        return counters.wakes
    }
}
