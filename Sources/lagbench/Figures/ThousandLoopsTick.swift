internal import CLibunwind
internal import LagDetection
internal import LagMonitor

/// What a tick of the watchdog costs with a thousand working loops: the watchdog thread's processor time by its wakes,
/// so with the wait's own system calls, the switch to the thread and the cold caches after it.
///
/// Another thread has every loop tell an activity some times between two ticks, so each look finds each word changed, and
/// the beacon's cache line with another processor. `loops_1_tick` is the same for one loop: what a tick costs anyway.
struct ThousandLoopsTick: Benchmark {
    let name = "loops_1000_tick"
    let unit = "us"
    let targets = [Target(.value, .atMost(20))]

    private static let settleMilliseconds = 200.0
    private static let milliseconds = 3_000.0
    private static let turnMilliseconds = 10.0

    func run() throws -> [BenchLine] {
        [try measure(loops: 1_000, name), try measure(loops: 1, "loops_1_tick")]
    }

    private func measure(loops count: Int, _ name: String) throws -> BenchLine {
        let monitor = LagMonitor()
        try monitor.start()
        defer { monitor.stop() }
        let loops = (0..<count).map { BenchLoop(name: "bench-\($0)") }
        for loop in loops { try monitor.watch(loop) }
        let stopping = Flag()
        let telling = try BenchThread {
            for loop in loops { loop.beacon.wake(.afterWaiting, at: clu_now_ns()) }
            while !stopping.isSet {
                for loop in loops { loop.beacon.begin(.beforeSources, at: clu_now_ns()) }
                Pause.sleep(milliseconds: Self.turnMilliseconds)
            }
        }
        defer {
            stopping.set()
            telling.join()
        }
        guard let watchdog = TaskFiles.thread(named: "lag-watchdog") else { throw BenchmarkFailure("no watchdog thread found") }
        Pause.sleep(milliseconds: Self.settleMilliseconds)
        let begin = try reading(monitor, watchdog)
        Pause.sleep(milliseconds: Self.milliseconds)
        let end = try reading(monitor, watchdog)
        guard end.wakes > begin.wakes else { throw BenchmarkFailure("the watchdog did not wake") }
        let ticks = end.wakes - begin.wakes
        return BenchLine(name, Double(end.nanoseconds - begin.nanoseconds) / Double(ticks) / 1000, unit).noting("ticks", ticks)
    }

    private func reading(_ monitor: LagMonitor, _ watchdog: Int32) throws -> (nanoseconds: UInt64, wakes: UInt64) {
        guard let nanoseconds = TaskFiles.processorNanoseconds(tid: watchdog), let counters = monitor.watchdogCounters else {
            throw BenchmarkFailure("no processor time of the watchdog")
        }
        return (nanoseconds, counters.wakes)
    }
}
