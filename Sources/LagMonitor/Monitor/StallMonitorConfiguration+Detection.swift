package import LagDetection
internal import LagOutput

// Converts the settings for the detector.
extension StallRules {
    /// By how many functions samples may be compared.
    static let maximumFunctions = SampleKey.maximumFunctions

    /// The same in nanoseconds. Requires validated rules.
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
    /// Space for frames that every prepared episode has.
    static let frameCapacity = EpisodeQueue.maximumFrames

    /// The rules, with this configuration's settings for all loops.
    package func watchRules(of rules: StallRules) -> WatchRules {
        var watchRules = rules.watchRules
        watchRules.restoreNanoseconds = UInt64(restoreInterval.wholeNanoseconds)
        watchRules.hangNanoseconds = UInt64(hangAfter.wholeNanoseconds)
        // Lines are also looked up at detection, so that they are ready when the stall is over.
        watchRules.reportsOpened = unfinishedPath != nil || symbols == .lines || onStallBegin != nil
        watchRules.graceNanoseconds = UInt64(startupGrace.wholeNanoseconds)
        return watchRules
    }
}
