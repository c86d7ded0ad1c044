internal import CLibunwind
internal import CoreFoundation
internal import LagActivity
internal import Synchronization

/// The loop's side: tells the beacon what the observers hear. It outlives them, and not the other way round.
///
/// Of the two observers, the first hears of each activity before all others do, so that what those do counts as its part; the last
/// hears of the wait and of the exit after all others, when nothing more is done.
// Sendable without a check: `outer` and `mode` are for the loop's own thread alone, which is where the observers are called and
// where `finish()` is; the rest is immutable and Sendable itself.
final class LoopTeller: @unchecked Sendable {
    let beacon = ActivityBeacon()
    let modes = ModeNumbers()
    let place = LoopPlace()
    /// Whether a ping is on its way. Any thread.
    let isPinged = Atomic<Bool>(false)
    let isMain: Bool

    /// What the loop did when each of the runs in progress began, the outermost first.
    private var outer: [(activity: LoopActivity, mode: UInt32)] = []
    private var hasLearnt = false

    init(isMain: Bool) {
        self.isMain = isMain
        hasLearnt = isMain
        if isMain { place.know(LoopPlace.Whereabouts(thread: .main, name: "main")) }
    }

    /// What the first observer is for.
    static let firstActivities: CFRunLoopActivity = [
        .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
    ]
    /// What the last observer is for.
    static let lastActivities: CFRunLoopActivity = [.beforeWaiting, .exit]

    /// Before all other observers.
    func begin(_ activity: CFRunLoopActivity) {
        let now = clu_now_ns()
        switch activity {
        case .beforeSources: beacon.begin(.beforeSources, at: now)
        case .beforeTimers:
            if beacon.activity == .beforeSources { turn(at: now) } else { beacon.begin(.beforeTimers, at: now) }
        case .beforeWaiting: beacon.begin(.beforeWaiting, at: now)
        case .afterWaiting: beacon.wake(.afterWaiting, at: now)
        case .entry: enter(at: now)
        case .exit: beacon.begin(.exit, at: now)
        default: break
        }
    }

    /// After all other observers.
    func end(_ activity: CFRunLoopActivity) {
        if activity == .exit { return leave() }
        beacon.begin(.waiting, at: clu_now_ns())
    }

    /// A turn begins with no wait after the one before: CFRunLoop had handled a manual source, or the main queue after it, and has
    /// looked at the rest without waiting.
    private func turn(at now: UInt64) {
        // In this order: the end of the work is noted if it was long, and whoever waits for a rest hears of one.
        beacon.begin(.waiting, at: now)
        beacon.wake(.beforeTimers, at: now)
    }

    private func enter(at now: UInt64) {
        if !hasLearnt { learn() }
        let before = beacon.activity
        outer.append((before, beacon.mode))
        beacon.setMode(modes.numberOfCurrent())
        // A loop at work still is: a run inside a callback is no rest.
        if before.isWorking { beacon.begin(.entry, at: now) } else { beacon.wake(.entry, at: now) }
    }

    private func leave() {
        // None: the observers came when this run was on its way already.
        let before = outer.popLast() ?? (.notRunning, 0)
        beacon.setMode(before.mode)
        beacon.begin(before.activity, at: clu_now_ns())
    }

    /// Takes down which thread this is, and hears of its end. The loop's thread.
    func learn() {
        guard !hasLearnt else { return }
        hasLearnt = true
        place.know(.ofCallingThread())
        ThreadEnd.tell(self)
    }

    /// The thread ends, and the loop with it. The loop's thread.
    func finish() { beacon.begin(.finished, at: clu_now_ns()) }
}
