import LagActivity
import LagCapture
import Synchronization

@testable import LagDetection

/// A watchdog without its thread: every look is a call, the time is set by hand.
final class WatchdogBench {
    /// What stands in an episode that came out.
    struct Told: Equatable {
        var phase: Episode.Phase
        var watch: Int
        var since: UInt64
        var until: UInt64
        var activity: LoopActivity
        var failure: CaptureFailure?
        var random: UInt64
    }

    let clock: FakeClock
    let registry: WatchRegistry
    let queue = EpisodeQueue(maximumFrames: 16)
    let watchdog: Watchdog
    let owner = FakeOwner()
    var plan = Watchdog.Plan(deadline: .max, stalled: false)

    init(at start: UInt64 = 1000 * millisecond) throws {
        let clock = FakeClock(start)
        let registry = WatchRegistry()!
        self.clock = clock
        self.registry = registry
        watchdog = Watchdog(registry: registry, queue: queue, capture: try ThreadCapture(), clock: { clock.now }, notify: {})
    }

    func watch(_ loop: FakeLoop, rule: DetectionRule = standardRule) -> Int {
        registry.add(loop, name: loop.name, owner: owner, rule: rule)!
    }

    /// One look at this time.
    @discardableResult
    func look(at time: UInt64, lost: UInt64 = 0) -> Watchdog.Plan {
        clock.now = time
        plan = watchdog.scan(at: time, lost: lost)
        return plan
    }

    /// Looks whenever a deadline comes, up to and including `time`; the times of the looks.
    @discardableResult
    func run(until time: UInt64) -> [UInt64] {
        var looks: [UInt64] = []
        while plan.deadline <= time, looks.count < 100_000 {
            looks.append(max(plan.deadline, clock.now))
            look(at: max(plan.deadline, clock.now))
        }
        clock.now = max(clock.now, time)
        return looks
    }

    /// Takes what was told, as the reporter does.
    func told() -> [Told] {
        var told: [Told] = []
        let retired = registry.retired()
        while let index = queue.takeReady() {
            let episode = queue.episodes[index]
            told.append(
                Told(
                    phase: episode.phase,
                    watch: episode.watch,
                    since: episode.sinceNanoseconds,
                    until: episode.untilNanoseconds,
                    activity: episode.activity,
                    failure: episode.outcome.failure,
                    random: episode.random.0
                )
            )
            queue.giveFree(index)
        }
        registry.reap(retired)
        return told
    }

    func counters(_ index: Int) -> WatchCounters { registry.entries[index].counters }
}
