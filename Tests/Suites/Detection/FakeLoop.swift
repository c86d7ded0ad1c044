internal import CLagBeacon
internal import LagActivity
import Synchronization

@testable import LagDetection

/// A loop with only a beacon, controlled by the test.
final class FakeLoop: PingableLoop {
    let beacon = ActivityBeacon()
    let thread: ThreadIdentity
    let name: String
    let pingsWithoutLocking: Bool
    private let pingCount = Atomic<Int>(0)

    /// - Parameter thread: without one, no stack is captured.
    init(
        name: String = "fake",
        thread: ThreadIdentity = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0),
        pingsWithoutLocking: Bool = true
    ) {
        self.name = name
        self.thread = thread
        self.pingsWithoutLocking = pingsWithoutLocking
    }

    func ping() { pingCount.add(1, ordering: .relaxed) }

    /// Pings that it received.
    var pings: Int { pingCount.load(ordering: .relaxed) }

    /// It answers a ping.
    func pong(at time: UInt64) { clb_beacon_pong(beacon.raw, time) }

    var armed: UInt32 { UInt32(beacon.raw.pointee.armed) }
    var isArmed: Bool { armed != 0 }

    /// A new activity at `time`, published as by a real loop: leaving a rest is a wake. It answers an arming with that time
    /// instead of the real one.
    /// - Returns: whether the watchdog was posted.
    @discardableResult
    func move(to activity: LoopActivity, at time: UInt64) -> Bool {
        let before = armed
        if !activity.isWorking {
            if beacon.activity.isWorking { beacon.begin(activity == .waiting ? .beforeWaiting : .exit, at: time) }
            beacon.publish(activity)
        } else if beacon.activity.isWorking {
            beacon.begin(activity, at: time)
        } else {
            beacon.wake(activity, at: time)
        }
        // The bits that the real code cleared are those that it answered.
        let isPosted = before & ~armed != 0
        if isPosted { beacon.raw.pointee.answered_ns = time }
        return isPosted
    }
}

/// A loop whose work moves between threads.
final class FakeUnpinnedLoop: PingableLoop, UnpinnedLoop {
    let beacon = ActivityBeacon()
    let thread = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0)
    let name = "wandering"
    let publishesActivity = false
    let pingsWithoutLocking = true
    private let present: Atomic<Int32>

    init(on tid: Int32) { present = Atomic(tid) }

    func ping() {}

    var presentThread: Int32 {
        get { present.load(ordering: .acquiring) }
        set { present.store(newValue, ordering: .releasing) }
    }
}

/// A loop that cannot be pinged.
final class UnpingableLoop: ObservableLoop {
    let beacon = ActivityBeacon()
    let thread = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0)
    let name = "deaf"
}

final class FakeTicker: LoopTicker {
    private let cancelCount = Atomic<Int>(0)

    func cancel() { cancelCount.add(1, ordering: .relaxed) }
    var cancels: Int { cancelCount.load(ordering: .relaxed) }
}

final class FakeOwner: WatchOwner {
    private let counters = Mutex(WatchCounters())

    func absorb(_ counters: WatchCounters) { self.counters.withLock { $0 += counters } }
    var absorbed: WatchCounters { counters.withLock { $0 } }
}

/// The time, set by the test.
final class FakeClock: Sendable {
    private let value: Atomic<UInt64>

    init(_ start: UInt64) { value = Atomic(start) }

    var now: UInt64 {
        get { value.load(ordering: .relaxed) }
        set { value.store(newValue, ordering: .relaxed) }
    }
}

/// A loop that is known only by samples, which the test makes.
final class FakeSampledLoop: SampledLoop {
    let beacon = ActivityBeacon()
    let thread = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0)
    let name = "sampled"
    private let stretches = Mutex(SampledStretches())

    var sampledStretches: SampledStretches { stretches.withLock { $0 } }

    func begin(at time: UInt64) {
        beacon.wake(.beforeSources, at: time)
        let word = clb_beacon_word(beacon.raw)
        stretches.withLock { $0.begin(word: word, at: .exact(time)) }
    }

    /// Its thread is gone.
    /// - Parameter time: when that was first seen; nil: not known.
    func finish(endedAt time: UInt64?) {
        if let time { stretches.withLock { $0.end(at: .exact(time)) } }
        beacon.publish(.finished)
    }
}
