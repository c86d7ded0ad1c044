internal import CLagBeacon
internal import LagModel
internal import Synchronization

/// Where the ticks of a loop arrive: the time of the last one, and their rate.
///
/// Written by the loop that ticks, read by the watchdog and by callers of the rate.
package final class TickCell: Sendable {
    private let ticked = Atomic<UInt64>(0)
    private let windowBegan = Atomic<UInt64>(0)
    private let windowCount = Atomic<UInt64>(0)
    /// Ticks a second, in thousandths.
    private let milliRate = Atomic<UInt64>(0)

    /// The period over which the rate is counted.
    private static let windowNanoseconds: UInt64 = 1_000_000_000

    package init() {}

    /// A tick. On the loop; no lock, no allocation.
    package func tick() { tick(at: clb_now_ns()) }

    func tick(at now: UInt64) {
        ticked.store(now, ordering: .releasing)
        let began = windowBegan.load(ordering: .relaxed)
        guard began > 0 else { return windowBegan.store(now, ordering: .relaxed) }
        let count = windowCount.load(ordering: .relaxed) + 1
        windowCount.store(count, ordering: .relaxed)
        let elapsed = now.saturatingDifference(began)
        guard elapsed >= Self.windowNanoseconds else { return }
        milliRate.store(count.saturatingProduct(1_000_000_000_000) / elapsed, ordering: .relaxed)
        windowBegan.store(now, ordering: .relaxed)
        windowCount.store(0, ordering: .relaxed)
    }

    /// When the last tick arrived; 0: none did.
    var lastNanoseconds: UInt64 { ticked.load(ordering: .acquiring) }

    /// Ticks a second over the last full second; nil before the first.
    package var rate: Double? {
        let rate = milliRate.load(ordering: .relaxed)
        return rate > 0 ? Double(rate) / 1000 : nil
    }
}
