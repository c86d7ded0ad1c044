internal import LagActivity
import LagCapture
import Synchronization

@testable import LagDetection

/// A watchdog without its thread: every poll is a call, and the test sets the time.
final class WatchdogBench {
    /// The contents of an episode that was reported.
    struct ReportedStall: Equatable {
        var phase: Episode.Phase
        var watch: Int
        var kind: StallKind
        var kinds: [StallKind]
        var interval: StallInterval
        var threshold: UInt64
        var activity: LoopActivity
        var failure: CaptureFailure?
        var random: UInt64
        var startRealtime: Int64

        var since: UInt64 { interval.since }
        var until: UInt64 { interval.until }

        init(_ episode: Episode) {
            let facts = episode.facts
            phase = facts.phase
            watch = facts.watch
            kind = facts.kind
            kinds = facts.kinds.kinds
            interval = facts.interval
            threshold = facts.thresholdNanoseconds
            activity = facts.activity
            failure = episode.failure
            random = facts.random.0
            startRealtime = facts.startRealtimeNanoseconds
        }
    }

    let clock: FakeClock
    let registry: WatchRegistry
    let queue = EpisodeQueue(maximumFrames: 16)!
    let watchdog: Watchdog
    let owner = FakeOwner()
    var plan = Watchdog.Plan(deadline: .max, wantsPosts: false)

    init(at start: UInt64 = 1000 * millisecond, throttling: ThrottleSource? = nil) throws {
        let clock = FakeClock(start)
        let registry = WatchRegistry()!
        self.clock = clock
        self.registry = registry
        watchdog = Watchdog(
            registry: registry,
            queue: queue,
            capture: try ThreadCapture(),
            relay: PingRelay(registry: registry),
            throttling: throttling,
            clock: { clock.now },
            notify: {}
        )
    }

    func watch(_ loop: any ObservableLoop, rules: WatchRules = .standard, ticks: TickCell? = nil, now: UInt64 = 0) -> Int {
        registry.add(loop, name: loop.name, owner: owner, rules: rules, ticks: ticks, now: now)!
    }

    /// Lets a loop begin a callout, which continues; polled as planned for 200 ms, so that the standard rule finds a stall.
    func stall(_ loop: FakeLoop, from begin: UInt64, in activity: LoopActivity = .beforeSources) {
        loop.move(to: activity, at: begin)
        scan(at: begin)
        run(until: begin + 200 * millisecond)
    }

    /// Lets a resting loop wake and work without a rest: that many callouts of 10 ms, polled as planned.
    func starve(_ loop: FakeLoop, from begin: UInt64, callouts: UInt64) {
        loop.move(to: .afterWaiting, at: begin)
        scan(at: begin)
        for turn in 1...callouts {
            loop.move(to: .beforeSources, at: begin + turn * 10 * millisecond)
            run(until: begin + turn * 10 * millisecond)
        }
    }

    /// One poll at this time.
    @discardableResult
    func scan(at time: UInt64, processPause: ProcessPause? = nil) -> Watchdog.Plan {
        clock.now = time
        plan = watchdog.scan(at: time, processPause: processPause)
        return plan
    }

    /// Polls at every deadline, up to and including `time`; the times of the polls.
    @discardableResult
    func run(until time: UInt64) -> [UInt64] {
        var polls: [UInt64] = []
        while plan.deadline <= time, polls.count < 100_000 {
            polls.append(max(plan.deadline, clock.now))
            scan(at: max(plan.deadline, clock.now))
        }
        clock.now = max(clock.now, time)
        return polls
    }

    /// Takes what was reported, like the reporter.
    func takeReported() -> [ReportedStall] {
        var reported: [ReportedStall] = []
        let retired = registry.retired()
        while let index = queue.takeReady() {
            reported.append(ReportedStall(queue.episodes[index]))
            queue.giveFree(index)
        }
        registry.reap(retired)
        return reported
    }

    func counters(_ index: Int) -> WatchCounters { registry.coldParts[index].counters }
}
