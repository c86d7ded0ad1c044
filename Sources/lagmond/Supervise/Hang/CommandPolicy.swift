internal import LagMonitor

/// What is done with a command besides reporting its stalls; by default nothing.
struct CommandPolicy: Equatable, Sendable {
    enum OnHang: Equatable, Sendable {
        /// Only report the hang, like every stall.
        case report
        /// Send this signal to the hanging process, once per stall.
        case signal(SignalName)
        /// The whole command is ended and started again.
        case restart

        static let allowed = "report, signal:NAME (\(SignalName.examples)), restart"

        init?(_ text: String) {
            switch text {
            case "report": self = .report
            case "restart": self = .restart
            default:
                guard text.hasPrefix("signal:"), let name = SignalName(String(text.dropFirst(7))) else { return nil }
                self = .signal(name)
            }
        }

        static func validationError(for text: String) -> String? { Self(text) == nil ? "\"\(text)\" is not an action" : nil }
    }

    var onHang = OnHang.report
    /// How long one callback must last before the action, without the time in which it could not run.
    var onHangAfter: Duration = Self.defaultOnHangAfter
    /// Whether a command is restarted that ends by itself with a status or a signal that means failure.
    var restartsOnFailure = false
    var restarts = RestartRule.Limits()
    /// How long a command may take to exit after SIGTERM, before SIGKILL.
    var stopGrace: Duration = .seconds(10)

    static let defaultOnHangAfter: Duration = .seconds(30)

    /// Adapts the monitor's configuration to the policy: a line must be written before any action.
    func adapt(_ configuration: inout StallMonitorConfiguration) {
        guard onHang != .report else { return }
        configuration.hangAfter = min(configuration.hangAfter, onHangAfter)
    }
}
