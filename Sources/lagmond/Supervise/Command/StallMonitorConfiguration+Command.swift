internal import LagMonitor
internal import LagRemote

extension StallMonitorConfiguration {
    /// As it is for the loops of another program, with what its policy needs.
    /// - Throws: ``StartFailure`` for rules that such loops cannot follow.
    func forCommand(choosesRules: Bool, _ policy: CommandPolicy) throws(StartFailure) -> RemoteConfiguration {
        var configuration = self
        // A wait tells that a loop came by, not that it slept: who is busy all the time is no news. A monitor in the command knows.
        var preloadRules = rules
        if !choosesRules { preloadRules.starvationThreshold = nil }
        if rules.ping != nil || rules.pingWhileWaiting != nil || rules.frame != nil {
            let allowed = "callout, starvation, sample"
            throw StartFailure(
                status: ExitStatus.configuration,
                message: "monitor.rules: another program's loops can neither be pinged nor asked to tick (allowed: \(allowed))"
            )
        }
        if policy.onHang != .report, configuration.rules.callout == nil {
            throw StartFailure(
                status: ExitStatus.configuration,
                message:
                    "command.on_hang: without the rule callout no line tells of a hang (allowed: report, or callout among monitor.rules)"
            )
        }
        policy.adapt(&configuration)
        do {
            try configuration.validate()
        } catch {
            throw StartFailure(status: ExitStatus.configuration, message: "\(error)")
        }
        return RemoteConfiguration(configuration, preloadRules: preloadRules)
    }
}
