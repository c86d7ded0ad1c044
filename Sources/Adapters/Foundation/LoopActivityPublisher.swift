internal import CLagBeacon
internal import CoreFoundation
internal import LagActivity
internal import Synchronization

/// The loop's side: publishes to the beacon what the observers receive. It outlives the observers.
///
/// Of the two observers, the first receives each activity before all others, so that their work counts as part of it; the last
/// receives the wait and the exit after all others, when no more work follows.
///
/// Each requested activity costs the loop CFRunLoop's path to its observers, several times the beacon's cost. So only the
/// necessary ones are requested: the work of `beforeTimers` and `exit` observers counts as part of the phase before.
// Sendable without a check: only the loop's own thread uses `outer`, `hasRecordedThread` and `loop`; the observers and `finish()`
// are called there. The rest is immutable and Sendable itself.
final class LoopActivityPublisher: @unchecked Sendable {
    let beacon = ActivityBeacon()
    let modes = ModeNumbers()
    let loopThread = LoopThreadIdentity()
    /// Whether a ping is outstanding. Any thread.
    let isPinged = Atomic<Bool>(false)
    let isMain: Bool

    /// The beacon's memory, for direct access.
    private let raw: UnsafeMutablePointer<clb_beacon>
    /// The loop's activity at the beginning of each run in progress, the outermost first.
    private var outer: [(activity: LoopActivity, mode: UInt32)] = []
    private var hasRecordedThread = false
    /// Reading it takes system calls. Not retained: the loop holds the observers, and they hold this.
    private var loop: Unmanaged<CFRunLoop>?

    init(isMain: Bool) {
        raw = beacon.raw
        self.isMain = isMain
        hasRecordedThread = isMain
        if isMain { loopThread.set(LoopThreadIdentity.Details(thread: .main, name: "main")) }
    }

    /// The activities of the first observer.
    static let firstActivities: CFRunLoopActivity = [.entry, .beforeSources, .beforeWaiting, .afterWaiting]
    /// The activities of the last observer.
    static let lastActivities: CFRunLoopActivity = [.beforeWaiting, .exit]

    /// Before all other observers.
    func begin(_ activity: CFRunLoopActivity) {
        let now = clb_now_ns()
        switch activity {
        case .beforeSources:
            if clb_beacon_woke_ns(raw) &+ Self.minimumRestGapNanoseconds <= now, isProcessingSources {
                return beginIteration(at: now)
            }
            clb_beacon_begin(raw, LoopActivity.beforeSources.rawValue, now)
        case .beforeWaiting: beacon.begin(.beforeWaiting, at: now)
        case .afterWaiting: beacon.wake(.afterWaiting, at: now)
        case .entry: enter(at: now)
        default: break
        }
    }

    /// After all other observers.
    func end(_ activity: CFRunLoopActivity) {
        if activity == .exit { return leave() }
        beacon.begin(.waiting, at: clb_now_ns())
    }

    /// Whether the turn before has not reached its wait.
    private var isProcessingSources: Bool { clb_beacon_word(raw) & 0xff == UInt64(LoopActivity.beforeSources.rawValue) }

    /// The minimum time between two published idle times: what matters is when the loop was last idle, and publishing it takes
    /// time.
    private static let minimumRestGapNanoseconds: UInt64 = 200_000

    /// A turn begins without a wait after the one before: CFRunLoop had handled a manual source, or the main queue after it, and
    /// has polled the rest without waiting.
    private func beginIteration(at now: UInt64) {
        // In this order: the end of the work is recorded if it was long, and a watcher that waits for the loop to be idle is
        // woken.
        beacon.begin(.waiting, at: now)
        beacon.wake(.beforeSources, at: now)
    }

    private func enter(at now: UInt64) {
        if !hasRecordedThread { recordThread() }
        let before = beacon.activity
        outer.append((before, beacon.mode))
        if loop == nil { loop = Unmanaged.passUnretained(CFRunLoopGetCurrent()) }
        // The loop itself is the caller, so it exists.
        if let loop { beacon.setMode(loop._withUnsafeGuaranteedRef { modes.number(ofModeOf: $0) }) }
        // A loop at work still is: a run inside a callback is not idle time.
        if before.isWorking { beacon.begin(.entry, at: now) } else { beacon.wake(.entry, at: now) }
    }

    private func leave() {
        // Nil: the observers were added when this run was in progress already.
        let before = outer.popLast() ?? (.notRunning, 0)
        beacon.setMode(before.mode)
        beacon.begin(before.activity, at: clb_now_ns())
    }

    /// Records the present thread, and registers for its end. The loop's thread.
    func recordThread() {
        guard !hasRecordedThread else { return }
        hasRecordedThread = true
        loopThread.set(.ofCallingThread())
        ThreadEnd.notify(self)
    }

    /// The thread ends, and the loop with it. The loop's thread.
    func finish() { beacon.begin(.finished, at: clb_now_ns()) }
}
