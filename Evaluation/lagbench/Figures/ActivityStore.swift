internal import CLagBeacon
internal import LagActivity
internal import LagMonitor

/// The cost of one activity for the monitored thread: `beacon.mark`, while the watchdog runs and the beacon is not armed,
/// compared with the store and semaphore signal of the observer-and-semaphore watchdog, while its watchdog waits.
///
/// Measures batches in a tight loop. The clock is read around each batch, and the cost of the loop is not subtracted. The result
/// is the median of the batches. The stores are atomic, so the compiler may neither remove nor merge them.
struct ActivityStore: Benchmark {
    let name = "activity_store"
    let unit = "ns"
    let targets = [Target(.value, .atMost(2)), Target(.ratio, .atLeast(100))]

    private static let batches = 600
    private static let storesPerBatch = 50_000
    private static let watchdogSignals = 3_000
    private static let watchdogBatches = 300
    /// The watchdog counts as waiting if it has announced the wait and has not woken for this long.
    private static let settleNanoseconds: UInt64 = 20_000
    private static let watchdogSignalsPerBatch = 500

    func run() throws -> [BenchLine] {
        let monitor = StallMonitor()
        try monitor.start()
        defer { monitor.stop() }
        let loop = BenchLoop(name: "bench")
        try monitor.watch(loop)
        // The loop works from now on, so that the watchdog ticks; the first wake answers the arming of the watchdog's park.
        loop.beacon.wake(.beforeTimers, at: clb_now_ns())
        Pause.sleep(milliseconds: 60)
        let ours = Samples((0..<Self.batches).map { _ in batch(loop.beacon) })

        let semaphoreWatchdog = try SemaphoreWatchdog()
        defer { semaphoreWatchdog.stop() }
        let waited = Samples((0..<Self.watchdogSignals).compactMap { _ in signalWhileWaiting(semaphoreWatchdog) })
        // Measured last, because it leaves many signals that the watchdog has not taken yet.
        let tight = Samples((0..<Self.watchdogBatches).map { _ in tightBatch(semaphoreWatchdog) })
        return [
            BenchLine(name, ours.median, unit).comparing(with: "semaphore_watchdog", waited.median),
            // This comparison favours the peer: in a tight loop its watchdog rarely waits, and a signal without a waiter is
            // cheap.
            BenchLine("activity_store_tight", ours.median, unit).comparing(with: "semaphore_watchdog_tight", tight.median),
        ]
    }

    /// Nanoseconds per mark.
    @inline(never)
    private func batch(_ beacon: ActivityBeacon) -> Double {
        let begin = clb_now_ns()
        for _ in 0..<Self.storesPerBatch / 2 {
            beacon.publish(.beforeTimers)
            beacon.publish(.beforeSources)
        }
        return Double(clb_now_ns() - begin) / Double(Self.storesPerBatch)
    }

    @inline(never)
    private func tightBatch(_ semaphoreWatchdog: SemaphoreWatchdog) -> Double {
        let begin = clb_now_ns()
        for _ in 0..<Self.watchdogSignalsPerBatch / 2 {
            semaphoreWatchdog.record(.other)
            semaphoreWatchdog.record(.beforeSources)
        }
        return Double(clb_now_ns() - begin) / Double(Self.watchdogSignalsPerBatch)
    }

    /// The time of one store and signal while the watchdog waits, minus one reading of the clock. Nil if the watchdog did not
    /// wait.
    private func signalWhileWaiting(_ semaphoreWatchdog: SemaphoreWatchdog) -> Double? {
        let patience = clb_now_ns() + 50_000_000
        var (wakes, since) = (semaphoreWatchdog.wakes, clb_now_ns())
        while !semaphoreWatchdog.isWaiting || clb_now_ns() - since < Self.settleNanoseconds {
            let now = clb_now_ns()
            if semaphoreWatchdog.wakes != wakes { (wakes, since) = (semaphoreWatchdog.wakes, now) }
            if now > patience { return nil }
            // Does not spin, because the watchdog may need this processor to reach its wait.
            Pause.sleep(milliseconds: 0.05)
        }
        let begin = clb_now_ns()
        semaphoreWatchdog.record(.other)
        let end = clb_now_ns()
        let again = clb_now_ns()
        return Double(end - begin) - Double(again - end)
    }
}
