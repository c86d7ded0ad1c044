public import LagActivity
internal import LagModel
internal import LagOutput
public import LagRunLoop

extension StallMonitor {
    /// Starts a monitor if the environment requests it, so that a program is watched without a change of its code:
    ///
    /// ```swift
    /// import LagMonitor
    ///
    /// StallMonitor.startFromEnvironment()
    /// ```
    ///
    /// `LAGMONITOR_OUTPUT_PATH` turns it on and gives the destination of the lines: the path of a file, `-` for stdout, or
    /// another ``OutputSettings/Destination`` except OTLP. Sockets and the journal need `Delivery.enable()` of the product
    /// LagMonitorDelivery first. Without the variable (or if it is empty) nothing happens. The names of the other variables are
    /// `LAGMONITOR_` and a key's path in capitals, as for lagmond: `LAGMONITOR_MONITOR_INTERVAL_MS`. Variables of lagmond's own
    /// settings (`LAGMONITOR_HTTP_LISTEN`) are ignored. `lagmond run` does not pass its own settings on to the programs that it
    /// runs, because it watches them. Every error, in the variables or at the start, is written to stderr, a line each, and no
    /// monitor is started. The function never throws and never ends the program.
    ///
    /// Call it early in `main`: no other thread may change the environment while it is read. Otherwise any thread. A second call
    /// returns the same monitor and makes it watch these loops, too.
    ///
    /// - Parameter loops: what to watch; the main thread's run loop by default. A program that does not run that loop names the
    ///   loop that it runs: `PingedQueue(.main)` needs `LAGMONITOR_MONITOR_RULES=ping`.
    /// - Returns: the monitor, which lives until the process exits. It can be stopped (which writes pending lines) or given a
    ///   handler. Nil if no monitor was started.
    @discardableResult
    public static func startFromEnvironment(watching loops: [any ObservableLoop] = [ObservedRunLoop.main]) -> StallMonitor? {
        EnvironmentActivation.shared.start(ProcessEnvironment.settings, loops, reportError: ProcessEnvironment.reportError)
    }
}

/// The monitor that the environment asked for. One in a process, except in tests.
final class EnvironmentActivation: Sendable {
    static let shared = EnvironmentActivation()

    private let monitor = PthreadMutex<StallMonitor?>(nil)

    private static let keys = SettingKey.outputSettings + SettingKey.monitorSettings

    func start(
        _ environment: [String: String],
        _ loops: [any ObservableLoop],
        reportError: (String) -> Void
    ) -> StallMonitor? {
        let nothing = "no monitor is started"
        let path = environment[SettingKey.output.environmentName] ?? ""
        guard !path.isEmpty else {
            let others = environment.filter { $0.value != "" && SettingValidationError.isForMonitor($0.key, value: $0.value) }
            if let other = others.keys.min() {
                reportError("\(other) is set, but \(SettingKey.output.environmentName) is not: \(nothing)")
            }
            return nil
        }
        var problems = SettingValidationError.validationErrors(inEnvironment: environment, known: Self.keys)
        if case .otlp? = try? OutputSettings.Destination(path) {
            let name = SettingKey.output.environmentName
            let reason = "\(path) needs a sink of LagMonitorOTLP, created by the program"
            problems.append(
                SettingValidationError(source: .environment, key: name, reason: reason, allowed: SettingKey.output.allowed)
            )
        }
        if problems.isEmpty {
            problems = OutputSettings.conflicts(Self.reader(environment)).map { conflict in
                let name = conflict.key.environmentName
                return SettingValidationError(source: .environment, key: name, reason: conflict.reason, allowed: conflict.allowed)
            }
        }
        guard problems.isEmpty else {
            for problem in problems { reportError("\(problem); \(nothing)") }
            return nil
        }
        return monitor.withLock { present -> StallMonitor? in
            do {
                let monitor = try present ?? Self.make(environment)
                let isNew = !monitor.isRunning
                do {
                    try monitor.start()
                    for loop in loops { try monitor.watch(loop) }
                } catch {
                    if isNew { monitor.stop() }
                    throw error
                }
                present = monitor
                return monitor
            } catch {
                reportError("the monitor that \(SettingKey.output.environmentName) requests cannot start: \(error)")
                return nil
            }
        }
    }

    private static func reader(_ environment: [String: String]) -> SettingsReader {
        var values: [String: JSONValue] = [:]
        for key in keys { values[key.path] = environment[key.environmentName].map(key.value) }
        return SettingsReader(values)
    }

    private static func make(_ environment: [String: String]) throws -> StallMonitor {
        let reader = reader(environment)
        let sinks = try OutputSettings(reader).map { [try $0.makeSink()] } ?? []
        return StallMonitor(configuration: StallMonitorConfiguration(reader), sinks: sinks)
    }
}
