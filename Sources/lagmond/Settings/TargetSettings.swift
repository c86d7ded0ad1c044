internal import LagMonitor

/// One target: whom it is about, what counts as a stall of it, and what is done then.
struct TargetSettings: Sendable, WatchSettings {
    /// Stands in its records as `service_name`, in metrics as `target`, and in front of what is said of it.
    let name: String
    let kind: ParsedTarget.Kind
    let policy: CommandPolicy
    let monitor: StallMonitorConfiguration
    let choosesRules: Bool

    /// - Parameter settings: its own over those of the file.
    init(_ reading: ParsedTarget, _ settings: Settings) {
        name = reading.name
        // A file with an objection is refused as a whole; what stands here instead is never used.
        kind = reading.kind ?? .command([])
        policy = settings.policy
        var monitor = settings.monitor
        monitor.serviceName = reading.name
        self.monitor = monitor
        choosesRules = settings.choosesRules
    }
}
