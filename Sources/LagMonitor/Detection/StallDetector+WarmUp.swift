internal import LagActivity

extension StallDetector {
    /// Observes simulated loops that stall in every way.
    ///
    /// In an unoptimised build, generic code allocates when it is first used with a type, including optionals and option sets.
    /// The watchdog must not do that later: the thread that stalls may hold malloc's lock. Takes half a millisecond, before the
    /// watchdog reports that it runs. A test program with its own malloc proves that nothing is missing.
    static func warmUp() {
        let timeouts = TimeoutRule(intervalNanoseconds: step * 2, timeouts: 3)
        var all = WatchRules(callout: timeouts)
        all.starvationNanoseconds = step * 20
        all.pingWhileWaiting = timeouts
        all.ping = timeouts
        all.frame = .init(periodNanoseconds: step, missed: 6)
        all.sampling = .init(intervalNanoseconds: step, samples: 3, functions: 1)
        all.hangNanoseconds = step * 30
        live(all)
        all.restoreNanoseconds = step * 50
        live(all)
        let rules = all
        let parts: [(inout WatchRules) -> Void] = [
            { $0.starvationNanoseconds = rules.starvationNanoseconds }, { $0.pingWhileWaiting = timeouts },
            { $0.ping = timeouts },
            { $0.frame = rules.frame }, { $0.sampling = rules.sampling },
        ]
        for part in parts {
            var alone = WatchRules()
            part(&alone)
            live(alone)
        }
    }

    private static let step: UInt64 = 10_000_000

    /// A second of idle time, one long callout, and many short ones, twice; then a watch that ends during a stall.
    private static func live(_ rules: WatchRules) {
        var detector = StallDetector(rules: rules)
        var (word, changed, rested): (UInt64, UInt64, UInt64) = (0, 0, 0)
        for turn in 100..<320 as Range<UInt64> {
            let (now, phase) = (turn * step, turn % 100)
            let activity = phase < 10 ? LoopActivity.waiting : .beforeSources
            if phase <= 10 || phase > 50 { (word, changed) = (word + 1, now) }
            if phase <= 10 { rested = now }
            let reading = BeaconReading(
                word: word << 8 | UInt64(activity.rawValue),
                calloutNanoseconds: changed,
                answeredNanoseconds: phase == 51 ? now : 0,
                wokeNanoseconds: rested,
                pongNanoseconds: rested
            )
            var observation = Observation(reading, at: now, isTick: turn % 2 == 0, pinged: rested, ticked: rested)
            if phase % 30 == 0 {
                observation.processPause = ProcessPause(from: now - step, to: now, atLeast: step / 4, atMost: step / 2)
            }
            // The same functions in the long callout, and two kinds alternating in the short ones.
            observation.sample = SampleKey(phase <= 50 ? 1 : phase % 2)
            if phase == 60 { _ = detector.replay(since: now - step * 8, until: now - step, observation) }
            if phase == 70 { detector.recordProgress(to: reading, at: now) }
            if phase == 80, turn > 200 { detector.dismiss(at: now) }
            _ = detector.observe(observation)
            _ = detector.isStalled
            _ = detector.isSuspicious
            _ = detector.canFastPoll
            _ = detector.nextPoll
        }
        _ = detector.finish(at: 320 * step, ignoreBefore: 319 * step)
    }
}
