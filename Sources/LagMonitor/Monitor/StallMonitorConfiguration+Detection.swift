package import LagDetection
internal import LagOutput

// What the settings mean to the detector.
extension StallRules {
    /// How many functions a sample may be compared by.
    static let maximumFunctions = SampleKey.maximumFunctions

    /// The same in nanoseconds. Of validated rules.
    var watchRules: WatchRules {
        func rule(_ timeouts: Timeouts?) -> TimeoutRule? {
            timeouts.map {
                TimeoutRule(intervalNanoseconds: UInt64($0.interval.wholeNanoseconds), timeouts: $0.timeouts)
            }
        }
        var rules = WatchRules(callout: rule(callout))
        rules.starvationNanoseconds = starvationThreshold.map { UInt64($0.wholeNanoseconds) }
        rules.pingWhileWaiting = rule(pingWhileWaiting)
        rules.ping = rule(ping)
        rules.frame = frame.map {
            WatchRules.Frame(periodNanoseconds: UInt64($0.period.wholeNanoseconds), missed: $0.missed)
        }
        rules.sampling = sampling.map {
            WatchRules.Sampling(
                intervalNanoseconds: UInt64($0.interval.wholeNanoseconds),
                samples: $0.samples,
                functions: $0.functions
            )
        }
        return rules
    }
}

extension StallMonitorConfiguration {
    /// Room for frames that every prepared episode has.
    static let frameCapacity = EpisodeQueue.maximumFrames

    /// Rules with what this configuration says of all loops.
    package func watchRules(of rules: StallRules) -> WatchRules {
        var watchRules = rules.watchRules
        watchRules.restoreNanoseconds = UInt64(restoreInterval.wholeNanoseconds)
        watchRules.hangNanoseconds = UInt64(hangAfter.wholeNanoseconds)
        // Lines are asked for at detection as well: whoever knows them has them when the stall is over.
        watchRules.reportsOpened = unfinishedPath != nil || symbols == .lines || onStallBegin != nil
        watchRules.graceNanoseconds = UInt64(startupGrace.wholeNanoseconds)
        return watchRules
    }
}
