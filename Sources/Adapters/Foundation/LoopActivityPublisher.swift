internal import CLagBeacon
internal import CoreFoundation
internal import LagActivity
internal import Synchronization

/// The loop's side: publishes to the beacon what the observers receive. It outlives them, and not the other way round.
///
/// Of the two observers, the first hears of each activity before all others do, so that what those do counts as its part; the last
/// hears of the wait and of the exit after all others, when nothing more is done.
///
/// Each activity that is asked for costs the loop CFRunLoop's way to its observers, several times the beacon's. So there are none that
/// could be spared: what observers of `beforeTimers` and `exit` do counts as part of the phase before.
// Sendable without a check: `outer`, `hasRecordedThread` and `loop` are for the loop's own thread alone, which is where the observers are called and
// where `finish()` is; the rest is immutable and Sendable itself.
final class LoopActivityPublisher: @unchecked Sendable {
    let beacon = ActivityBeacon()
    let modes = ModeNumbers()
    let loopThread = LoopThreadIdentity()
    /// Whether a ping is on its way. Any thread.
    let isPinged = Atomic<Bool>(false)
    let isMain: Bool

    /// The beacon's memory, one step nearer.
    private let raw: UnsafeMutablePointer<clb_beacon>
    /// What the loop did when each of the runs in progress began, the outermost first.
    private var outer: [(activity: LoopActivity, mode: UInt32)] = []
    private var hasRecordedThread = false
    /// Asking for it takes system calls. Not retained: the loop has the observers, and they this.
    private var loop: Unmanaged<CFRunLoop>?

    init(isMain: Bool) {
        raw = beacon.raw
        self.isMain = isMain
        hasRecordedThread = isMain
        if isMain { loopThread.set(LoopThreadIdentity.Details(thread: .main, name: "main")) }
    }

    /// What the first observer is for.
    static let firstActivities: CFRunLoopActivity = [.entry, .beforeSources, .beforeWaiting, .afterWaiting]
    /// What the last observer is for.
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

    /// Whether the turn before has not come to its wait.
    private var isProcessingSources: Bool { clb_beacon_word(raw) & 0xff == UInt64(LoopActivity.beforeSources.rawValue) }

    /// After a rest, another one is published no sooner than that: a rest is a rest by when it was, and publishing one takes time.
    private static let minimumRestGapNanoseconds: UInt64 = 200_000

    /// A turn begins with no wait after the one before: CFRunLoop had handled a manual source, or the main queue after it, and has
    /// polled the rest without waiting.
    private func beginIteration(at now: UInt64) {
        // In this order: the end of the work is recorded if it was long, and whoever waits for a rest is woken.
        beacon.begin(.waiting, at: now)
        beacon.wake(.beforeSources, at: now)
    }

    private func enter(at now: UInt64) {
        if !hasRecordedThread { recordThread() }
        let before = beacon.activity
        outer.append((before, beacon.mode))
        if loop == nil { loop = Unmanaged.passUnretained(CFRunLoopGetCurrent()) }
        // Its own loop is calling, so it is there.
        if let loop { beacon.setMode(loop._withUnsafeGuaranteedRef { modes.number(ofModeOf: $0) }) }
        // A loop at work still is: a run inside a callback is no rest.
        if before.isWorking { beacon.begin(.entry, at: now) } else { beacon.wake(.entry, at: now) }
    }

    private func leave() {
        // None: the observers came when this run was on its way already.
        let before = outer.popLast() ?? (.notRunning, 0)
        beacon.setMode(before.mode)
        beacon.begin(before.activity, at: clb_now_ns())
    }

    /// Takes down which thread this is, and hears of its end. The loop's thread.
    func recordThread() {
        guard !hasRecordedThread else { return }
        hasRecordedThread = true
        loopThread.set(.ofCallingThread())
        ThreadEnd.notify(self)
    }

    /// The thread ends, and the loop with it. The loop's thread.
    func finish() { beacon.begin(.finished, at: clb_now_ns()) }
}
