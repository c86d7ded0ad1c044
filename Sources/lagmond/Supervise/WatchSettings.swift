internal import LagMonitor
internal import LagRemote

/// Settings for the watch of other programs: a command's, a target's, a process's.
protocol WatchSettings {
    var monitor: StallMonitorConfiguration { get }
    /// Whether any source says what counts as a stall.
    var choosesRules: Bool { get }
    /// Which loops are watched.
    var selection: LoopSelection { get }
    /// Which attributes of published contexts may stand in records.
    var attributes: PublishedAttributes { get }
    var policy: CommandPolicy { get }
    /// How messages name them.
    var names: SettingNames { get }
}

extension WatchSettings {
    /// The monitor's configuration for the loops of another program, adapted to the policy.
    /// - Throws: ``StartFailure`` for rules that such loops cannot follow.
    func remoteConfiguration() throws(StartFailure) -> RemoteConfiguration {
        // A server at full load never rests, and does nothing wrong: of a program that was not prepared, that is a finding only for who asks.
        var preloadRules = monitor.rules
        if !choosesRules { preloadRules.starvationThreshold = nil }
        if monitor.rules.ping != nil || monitor.rules.pingWhileWaiting != nil || monitor.rules.frame != nil {
            throw StartFailure(
                status: ExitStatus.configuration,
                message: "\(names[.rules]): another program's loops can neither be pinged nor asked to tick "
                    + "(allowed: callout, starvation, sample)"
            )
        }
        if policy.onHang != .report, monitor.rules.callout == nil {
            throw StartFailure(
                status: ExitStatus.configuration,
                message: "\(names[.onHang]): without the rule callout no line reports a hang "
                    + "(allowed: report, or callout among --rules)"
            )
        }
        var configuration = monitor
        policy.adapt(&configuration)
        do {
            try configuration.validate()
        } catch {
            throw StartFailure(status: ExitStatus.configuration, message: "\(error)")
        }
        return RemoteConfiguration(configuration, preloadRules: preloadRules, selection: selection, attributes: attributes)
    }
}
