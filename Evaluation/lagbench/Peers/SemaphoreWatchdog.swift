internal import CLagBeacon
internal import Dispatch
internal import Synchronization

/// The observer-and-semaphore watchdog: an observer stores each activity and signals a semaphore, and a watchdog thread waits on
/// that semaphore with a timeout. Three timeouts in a row within a working activity are a stall.
///
/// ``record(_:)`` is for the loop's thread, the rest for any thread.
final class SemaphoreWatchdog: Sendable {
    /// The activities that the rule distinguishes: `beforeSources` and `afterWaiting` count as work.
    enum Activity: UInt8, AtomicRepresentable {
        case other
        case beforeSources
        case afterWaiting
    }

    /// The state that observer and watchdog share, so that the watchdog does not retain its owner.
    private final class Shared: Sendable {
        let activity = Atomic<Activity>(.other)
        let semaphore = DispatchSemaphore(value: 0)
        let stopping = Atomic<Bool>(false)
        let wakes = Atomic<UInt64>(0)
        let waiting = Atomic<Bool>(false)
        let detections = Mutex<[UInt64]>([])
    }

    private static let intervalMilliseconds = 50
    private static let timeoutsNeeded = 3

    private let shared = Shared()
    private let watchdog: BenchThread

    /// Starts the watchdog.
    init() throws {
        let shared = shared
        watchdog = try BenchThread { Self.watch(shared) }
    }

    /// The observer's callback.
    @inline(never)
    func record(_ activity: Activity) {
        shared.activity.store(activity, ordering: .releasing)
        shared.semaphore.signal()
    }

    /// The number of the watchdog's waits that have ended.
    var wakes: UInt64 { shared.wakes.load(ordering: .relaxed) }

    /// Whether the watchdog waits, or is about to wait.
    var isWaiting: Bool { shared.waiting.load(ordering: .acquiring) }

    /// The times at which stalls were found, in nanoseconds of `CLOCK_MONOTONIC`. A stall of two thresholds is found twice, as in
    /// common implementations.
    var detections: [UInt64] { shared.detections.withLock { $0 } }

    /// Ends the watchdog; once.
    func stop() {
        shared.stopping.store(true, ordering: .releasing)
        shared.semaphore.signal()
        watchdog.join()
    }

    private static func watch(_ shared: Shared) {
        var timeouts = 0
        while !shared.stopping.load(ordering: .acquiring) {
            shared.waiting.store(true, ordering: .releasing)
            let result = shared.semaphore.wait(timeout: .now() + .milliseconds(intervalMilliseconds))
            shared.waiting.store(false, ordering: .releasing)
            shared.wakes.add(1, ordering: .relaxed)
            guard result == .timedOut, shared.activity.load(ordering: .acquiring) != .other else {
                timeouts = 0
                continue
            }
            timeouts += 1
            if timeouts < timeoutsNeeded { continue }
            timeouts = 0
            let now = clb_now_ns()
            shared.detections.withLock { $0.append(now) }
        }
    }
}
