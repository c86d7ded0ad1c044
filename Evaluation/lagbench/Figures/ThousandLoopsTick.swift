internal import CLagBeacon
internal import LagDetection
internal import LagMonitor

/// The cost of a tick of the watchdog with a thousand working loops: the time in which it scans all of them, as the watchdog
/// measures it in the running monitor; the median of about sixty ticks.
///
/// Another thread makes every loop wake and work several times between two ticks. So each scan finds every word changed, the
/// beacon's cache line on another processor, and no data of the last tick in its caches. `loops_1000_cpu` is the watchdog
/// thread's whole CPU time per tick, including the system calls of its wait and the switch to the thread. `loops_1_cpu` is the
/// same for one loop, which is the fixed cost of a tick.
struct ThousandLoopsTick: Benchmark {
    let name = "loops_1000_tick"
    let unit = "us"
    let targets = [Target(.value, .atMost(20))]

    private static let settleMilliseconds = 200.0
    private static let nanoseconds: UInt64 = 3_000_000_000
    private static let pollMilliseconds = 10.0
    private static let iterationMilliseconds = 10.0

    func run() throws -> [BenchLine] {
        let (thousand, one) = (try measure(loops: 1_000), try measure(loops: 1))
        var line = BenchLine(name, thousand.scans.median, unit)
        line.p99 = thousand.scans.percentile(99)
        return [
            line.annotating("ticks", thousand.scans.count), BenchLine("loops_1000_cpu", thousand.processor, unit),
            BenchLine("loops_1_cpu", one.processor, unit),
        ]
    }

    /// Microseconds of each scan, and of the thread's CPU time per tick.
    private struct Costs {
        let scans: Samples
        let processor: Double
    }

    private func measure(loops count: Int) throws -> Costs {
        let monitor = StallMonitor()
        try monitor.start()
        defer { monitor.stop() }
        let loops = (0..<count).map { BenchLoop(name: "bench-\($0)") }
        for loop in loops { try monitor.watch(loop) }
        let stopping = Flag()
        let publisher = try BenchThread {
            while !stopping.isSet {
                // Each loop has rested for a moment and works again, because loops that never rest count as starved.
                for loop in loops {
                    loop.beacon.wake(.afterWaiting, at: clb_now_ns())
                    loop.beacon.begin(.beforeSources, at: clb_now_ns())
                }
                Pause.sleep(milliseconds: Self.iterationMilliseconds)
            }
        }
        defer {
            stopping.set()
            publisher.join()
        }
        guard let watchdog = TaskFiles.thread(named: "lag-watchdog") else { throw BenchmarkFailure("no watchdog thread found") }
        Pause.sleep(milliseconds: Self.settleMilliseconds)
        let begin = try reading(monitor, watchdog)
        let deadline = clb_now_ns() + Self.nanoseconds
        var scans: [Double] = []
        var last = begin.counters
        while clb_now_ns() < deadline {
            Pause.sleep(milliseconds: Self.pollMilliseconds)
            let counters = try reading(monitor, watchdog).counters
            if counters.wakes != last.wakes { scans.append(Double(counters.lastScanNanoseconds) / 1000) }
            last = counters
        }
        let end = try reading(monitor, watchdog)
        guard !scans.isEmpty else { throw BenchmarkFailure("the watchdog did not wake") }
        let ticks = Double(end.counters.wakes - begin.counters.wakes)
        return Costs(scans: Samples(scans), processor: Double(end.nanoseconds - begin.nanoseconds) / ticks / 1000)
    }

    private func reading(_ monitor: StallMonitor, _ watchdog: Int32) throws -> (nanoseconds: UInt64, counters: Watchdog.Counters)
    {
        guard let nanoseconds = TaskFiles.processorNanoseconds(tid: watchdog), let counters = monitor.watchdogCounters else {
            throw BenchmarkFailure("cannot read the CPU time of the watchdog")
        }
        return (nanoseconds, counters)
    }
}
