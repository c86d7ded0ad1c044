internal import LagMonitor

/// What is done with a command besides reporting its stalls; by default nothing.
struct CommandPolicy: Equatable, Sendable {
    enum OnHang: Equatable, Sendable {
        /// Lines, as for every stall.
        case report
        /// This signal to the process that hangs, once a stall.
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
    /// How long one callback has to last for that, without the time in which it could not run.
    var onHangAfter: Duration = Self.defaultOnHangAfter
    /// Whether a command that ends by itself, with a status or by a signal that mean failure, is started again.
    var restartsOnFailure = false
    var restarts = RestartRule.Limits()
    /// How long a command may take to end after SIGTERM, before SIGKILL.
    var stopGrace: Duration = .seconds(10)

    static let defaultOnHangAfter: Duration = .seconds(30)

    /// What of the monitor's configuration the policy needs otherwise: a line is written before anything is done.
    func adapt(_ configuration: inout StallMonitorConfiguration) {
        guard onHang != .report else { return }
        configuration.hangAfter = min(configuration.hangAfter, onHangAfter)
    }
}
