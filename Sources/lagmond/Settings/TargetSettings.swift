internal import LagMonitor
internal import LagRemote

/// One target: what is watched, what counts as a stall, and what is done when it hangs.
struct TargetSettings: Sendable, WatchSettings {
    /// `service_name` in its records, the label `target` in metrics, and the prefix of its messages.
    let name: String
    let kind: ParsedTarget.Kind
    let policy: CommandPolicy
    var monitor: StallMonitorConfiguration
    let choosesRules: Bool
    let selection: LoopSelection
    let attributes: PublishedAttributes
    let names: SettingNames

    /// - Parameter settings: the target's own settings over those of the file.
    init(_ reading: ParsedTarget, _ settings: Settings) {
        name = reading.name
        // A file with an error is rejected as a whole; this default is never used.
        kind = reading.kind ?? .command([])
        policy = settings.policy
        var monitor = settings.monitor
        monitor.serviceName = reading.name
        self.monitor = monitor
        choosesRules = settings.choosesRules
        selection = settings.selection
        attributes = settings.attributes
        names = settings.names
    }
}
