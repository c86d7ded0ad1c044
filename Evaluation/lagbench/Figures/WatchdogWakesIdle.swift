internal import LagDetection
internal import LagMonitor
internal import LagRunLoop

/// How often the watchdog wakes in five seconds in which every watched loop waits.
struct WatchdogWakesIdle: Benchmark {
    let name = "watchdog_wakes_idle"
    let unit = "count"
    let targets = [Target(.value, .atMost(0))]

    private static let loops = 8
    private static let settleMilliseconds = 300.0
    private static let milliseconds = 5_000.0

    func run() throws -> [BenchLine] {
        let monitor = LagMonitor()
        try monitor.start()
        defer { monitor.stop() }
        let threads = try (0..<Self.loops).map { try KeepAliveThread(name: "bench-idle-\($0)") }
        defer {
            for thread in threads { thread.stop() }
            for thread in threads { thread.join() }
        }
        for thread in threads { try monitor.watch(thread.loop) }
        // A classic observer of one loop that waits as well.
        let classic = try ClassicObserver()
        let classicLoop = try CoreFoundationLoop(observer: classic) {}
        defer {
            classicLoop.stop()
            classic.stop()
        }
        Pause.sleep(milliseconds: Self.settleMilliseconds)
        let (before, classicBefore) = (try wakes(of: monitor), classic.wakes)
        Pause.sleep(milliseconds: Self.milliseconds)
        let (after, classicAfter) = (try wakes(of: monitor), classic.wakes)
        return [
            BenchLine(name, Double(after - before), unit)
                .comparing(with: "classic_observer", Double(classicAfter - classicBefore))
                .noting("loops", Self.loops)
        ]
    }

    private func wakes(of monitor: LagMonitor) throws -> UInt64 {
        guard let counters = monitor.watchdogCounters else { throw BenchmarkFailure("the monitor does not run") }
        return counters.wakes
    }
}
