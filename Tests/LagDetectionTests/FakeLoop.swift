import CLibunwind
import LagActivity
import Synchronization

@testable import LagDetection

/// A loop of which only the beacon exists, moved by hand.
final class FakeLoop: ObservableLoop {
    let beacon = ActivityBeacon()
    let thread: ThreadIdentity
    let name: String

    /// - Parameter thread: without one nothing is captured.
    init(name: String = "fake", thread: ThreadIdentity = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0)) {
        self.name = name
        self.thread = thread
    }

    func modeName(_ number: UInt32) -> String? { nil }

    var isArmed: Bool { beacon.raw.pointee.armed != 0 }

    /// A new activity at `time`; answers an arming with that time instead of the real one.
    /// - Returns: whether the watchdog was posted.
    @discardableResult
    func move(to activity: LoopActivity, at time: UInt64) -> Bool {
        let armed = isArmed
        if activity.isWorking { beacon.begin(activity, at: time) } else { beacon.mark(activity) }
        if armed { beacon.raw.pointee.answered_ns = time }
        return armed
    }
}

final class FakeOwner: WatchOwner {
    private let counters = Mutex(WatchCounters())

    func absorb(_ counters: WatchCounters) { self.counters.withLock { $0 += counters } }
    var absorbed: WatchCounters { counters.withLock { $0 } }
}

/// The time, as a test sets it.
final class FakeClock: Sendable {
    private let value: Atomic<UInt64>

    init(_ start: UInt64) { value = Atomic(start) }

    var now: UInt64 {
        get { value.load(ordering: .relaxed) }
        set { value.store(newValue, ordering: .relaxed) }
    }
}
