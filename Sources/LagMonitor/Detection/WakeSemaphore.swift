internal import CLagBeacon
package import LagActivity
internal import Synchronization

/// A semaphore with waits on `CLOCK_MONOTONIC`. `sem_timedwait` and libdispatch's timed wait on Linux follow the wall clock and
/// misfire when it is set.
// Unchecked: a semaphore is intended for sharing, and the pointer is immutable.
package final class WakeSemaphore: @unchecked Sendable {
    /// What beacons are armed with.
    let raw: UnsafeMutablePointer<clb_waker>
    private let parked = Atomic<Bool>(false)

    package init() {
        guard let memory = clb_waker_create() else { fatalError("no memory for a semaphore") }
        raw = memory
    }

    deinit { clb_waker_destroy(raw) }

    /// From now on this beacon wakes the thread that waits here. Call it before the beacon is watched. This object must outlive
    /// the beacon's last activity.
    package func attach(_ beacon: ActivityBeacon) { clb_beacon_arm(beacon.raw, raw, 0) }

    /// Any thread; async-signal-safe.
    package func post() { clb_waker_post(raw) }

    /// The same, for a beacon that answered then; 0: none did. The first answer counts.
    package func post(answeredAt nanoseconds: UInt64) {
        if nanoseconds > 0 { clb_waker_record_answer(raw, nanoseconds) }
        post()
    }

    /// - Parameter deadline: `CLOCK_MONOTONIC` nanoseconds; `.max`: no deadline.
    /// - Returns: whether it was posted (and did not time out).
    package func wait(until deadline: UInt64) -> Bool {
        parked.store(deadline == .max, ordering: .releasing)
        defer { parked.store(false, ordering: .releasing) }
        return clb_waker_wait(raw, deadline) != 0
    }

    /// Whether a thread waits here without a deadline: a watchdog does if all its loops rest. Any thread.
    package var isParked: Bool { parked.load(ordering: .acquiring) }

    /// Takes all pending posts.
    /// - Returns: when the first beacon among them answered; 0 if none did.
    @discardableResult
    package func drain() -> UInt64 { clb_waker_drain(raw) }
}
