/// Why a monitor cannot start, or a loop cannot be watched.
public enum StallMonitorError: Error, Sendable, Equatable, CustomStringConvertible {
    /// libunwind is missing, or the kernel or a sandbox forbids reading this process's own memory.
    case captureUnavailable(reason: String)
    /// A setting is out of bounds.
    case invalidConfiguration(key: String, value: String, allowed: String)
    /// The system has no thread or memory for the monitor.
    case resources(reason: String)
    /// A sink that ``StallMonitor/stop()`` closed cannot be opened again.
    case sinkUnavailable(reason: String)
    /// The process already watches the maximum number of loops.
    case tooManyLoops(limit: Int)
    /// A loop does not support what a rule requires.
    case ruleNotPossible(rule: String, reason: String)
    /// The monitor was not started, or was stopped.
    case notRunning

    /// The reason, as one line for a log.
    public var description: String {
        switch self {
        case .captureUnavailable(let reason): reason
        case .invalidConfiguration(let key, let value, let allowed): "\(key) is \(value), allowed is \(allowed)"
        case .resources(let reason), .sinkUnavailable(let reason): reason
        case .tooManyLoops(let limit): "\(limit) loops are already watched, which is the maximum"
        case .ruleNotPossible(let rule, let reason): "the rule \(rule) cannot be applied: \(reason)"
        case .notRunning: "the monitor is not running: call start() before watch(_:)"
        }
    }
}
