internal import LagActivity
import TestSupport

@testable import LagDetection

/// A loop that works and rests, and a watchdog that polls when its plan requires it or when it is posted; in addition, the whole
/// process is stopped.
struct Timeline {
    /// A stretch of time, and how much of it the process ran.
    struct Stretch: Equatable {
        var since: UInt64
        var until: UInt64
        var ran: UInt64
    }

    var random: SeededGenerator
    let rules: WatchRules
    let bench: WatchdogBench
    let loop = FakeLoop()
    let index: Int
    var now: UInt64
    /// The callouts.
    var worked: [Stretch] = []
    /// From the end of a rest to the beginning of the next, with the callouts in it.
    var busy: [(stretch: Stretch, callouts: Range<Int>)] = []
    private var stopped: UInt64 = 0
    private var busySince: (time: UInt64, stopped: UInt64, callouts: Int)?
    private var lateness = LatenessGuard()
    private var waitBegan: UInt64
    /// How long the watchdog was ready in the current wait without running.
    private var runDelay: UInt64 = 0

    init(seed: UInt64, rules: WatchRules, bench: WatchdogBench) {
        random = SeededGenerator(seed: seed)
        self.rules = rules
        self.bench = bench
        now = bench.clock.now + 1
        waitBegan = now
        index = bench.watch(loop, rules: rules)
        scan(at: now)
    }

    /// What the watchdog's thread does when a wait has ended.
    /// - Parameter answered: when the loop posted, if it did.
    mutating func scan(at time: UInt64, answered: UInt64 = .max) {
        let due = min(bench.plan.deadline, answered)
        let begun = bench.plan.deadline == .max ? due : waitBegan
        let evidence = LatenessGuard.Evidence(runDelayNanoseconds: runDelay)
        bench.scan(at: time, processPause: lateness.evaluate(from: begun, due: due, endedAt: time, evidence: { evidence }))
        waitBegan = time
        runDelay = 0
    }

    /// Lets time pass: the watchdog polls at its deadlines, which at the same moment come before the loop's moves.
    mutating func pass(until time: UInt64) {
        while bench.plan.deadline <= time { scan(at: max(bench.plan.deadline, now)) }
        now = max(now, time)
    }

    /// No thread runs. Then all run, the watchdog after a wait for a processor.
    mutating func stop(_ length: UInt64, runDelay delay: UInt64 = 0) {
        now += length
        stopped += length
        guard bench.plan.deadline <= now else { return }
        now += delay
        runDelay += delay
        scan(at: now)
    }

    mutating func move(to activity: LoopActivity) {
        let wasBusy = loop.beacon.activity.isWorking
        if activity.isWorking, !wasBusy { busySince = (now, stopped, worked.count) }
        if !activity.isWorking, wasBusy, let begun = busySince {
            let stretch = Stretch(since: begun.time, until: now, ran: now - begun.time - (stopped - begun.stopped))
            busy.append((stretch, begun.callouts..<worked.count))
        }
        if loop.move(to: activity, at: now), bench.plan.wantsPosts { scan(at: now, answered: now) }
    }

    /// One callout that computes for that long; a stop of the process within it makes it longer.
    mutating func work(_ length: UInt64, stops: [(after: UInt64, length: UInt64, runDelay: UInt64)] = []) {
        let since = now
        let stoppedBefore = stopped
        let activities: [LoopActivity] = [.afterWaiting, .beforeTimers, .beforeSources, .entry, .beforeWaiting, .exit]
        move(to: activities.randomElement(using: &random)!)
        for each in stops {
            pass(until: now + each.after)
            stop(each.length, runDelay: each.runDelay)
        }
        let ran = now - since - (stopped - stoppedBefore)
        pass(until: now + max(length, ran) - ran)
        worked.append(Stretch(since: since, until: now, ran: now - since - (stopped - stoppedBefore)))
    }

    mutating func rest(_ length: UInt64) {
        move(to: .waiting)
        pass(until: now + length)
    }

    mutating func random(_ range: Range<UInt64>) -> UInt64 { UInt64.random(in: range, using: &random) }

    /// Up to the end of the stalls in progress; what was reported, in order.
    mutating func end() -> [WatchdogBench.ReportedStall] {
        rest(3 * rules.tickNanoseconds)
        let reported = bench.takeReported()
        _ = bench.registry.endAll(of: bench.owner)
        bench.scan(at: now)
        return reported + bench.takeReported()
    }
}
