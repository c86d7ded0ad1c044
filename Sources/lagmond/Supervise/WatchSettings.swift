internal import LagMonitor
internal import LagRemote

/// Settings for watching other programs: a command, a target or a process.
protocol WatchSettings {
    var monitor: StallMonitorConfiguration { get }
    /// Whether any source sets what counts as a stall.
    var choosesRules: Bool { get }
    /// Which loops are watched.
    var selection: LoopSelection { get }
    /// Which attributes of published contexts may be in records.
    var attributes: PublishedAttributes { get }
    var policy: CommandPolicy { get }
    /// The names of the settings in messages.
    var names: SettingNames { get }
}

extension WatchSettings {
    /// The monitor's configuration for the loops of another program, adapted to the policy.
    /// - Throws: ``StartFailure`` for rules that do not work for such loops.
    func remoteConfiguration() throws(StartFailure) -> RemoteConfiguration {
        // A server at full load never rests, which is not a fault: for an unprepared program, starvation is reported only if the
        // user enables it.
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
