internal import LagMonitor
internal import LagOutput

/// Texts that users write: destinations, and the values of all settings.
final class SettingsTarget: FuzzTarget {
    static let name = "settings"
    let seeds = [
        "tcp:127.0.0.1:6000", "tcp:[::1]:6000", "unix:/run/x.sock", "otlp:https://c:4318/v1/logs", "journald:/x", "file:a",
        "callout,starvation",
        "0.5", "100", "best", "/opt/x, /usr/lib",
    ].map { Array($0.utf8) }
    let tokens = [":", ",", "[", "]", "http://", "otlp:", "tcp:", "65536", "-1", "1e400", "\u{0}", "${", "}", "é", "\u{202e}"]

    init(_ surroundings: FuzzSurroundings) {}

    func read(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        _ = try? OutputSettings(text)
        for key in SettingKey.outputSettings + SettingKey.monitorSettings { _ = key.validationError(for: key.value(of: text)) }
    }
}
