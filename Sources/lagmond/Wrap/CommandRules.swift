internal import LagMonitor

extension LagMonitorConfiguration {
    /// As it is for the loops of a command, with what its policy needs.
    /// - Throws: ``StartFailure`` for rules that such loops cannot follow.
    func forCommand(choosesRules: Bool, _ policy: CommandPolicy) throws(StartFailure) -> LagMonitorConfiguration {
        var configuration = self
        // A wait tells that a loop came by, not that it slept: who is busy all the time is no news.
        if !choosesRules { configuration.rules.starvationThreshold = nil }
        if rules.ping != nil || rules.pingWhileWaiting != nil || rules.frame != nil {
            let allowed = "callout, starvation, sample"
            throw StartFailure(
                status: ExitStatus.configuration,
                message: "monitor.rules: a command's loops can neither be pinged nor asked to tick (allowed: \(allowed))"
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
        return configuration
    }
}
