internal import LagMonitor

/// What can be found out of a loop that does nothing for it.
enum OutsideRules {
    /// The configuration for a process that is watched from outside.
    /// - Throws: ``StartFailure`` where a rule needs the loop's help.
    static func configuration(_ settings: Settings) throws(StartFailure) -> LagMonitorConfiguration {
        var configuration = settings.monitor
        // Who is busy all the time is no news, unless somebody asked.
        if !settings.choosesRules { configuration.rules.starvationThreshold = nil }
        if configuration.rules.ping != nil || configuration.rules.pingWhileWaiting != nil || configuration.rules.frame != nil {
            let allowed = "callout, starvation, sample"
            throw StartFailure(
                status: ExitStatus.configuration,
                message: "monitor.rules: another program's loops can neither be pinged nor asked to tick (allowed: \(allowed))"
            )
        }
        do {
            try configuration.validate()
        } catch {
            throw StartFailure(status: ExitStatus.configuration, message: "\(error)")
        }
        return configuration
    }
}
