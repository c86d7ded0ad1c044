internal import CLagLinux
internal import Glibc
internal import LagModel

/// The environment's settings of this package, and where errors in them are reported.
enum ProcessEnvironment {
    /// The variables whose names begin with `LAGMONITOR_`. If a name appears twice, the first counts, as for `getenv`.
    static var settings: [String: String] {
        var found: [String: String] = [:]
        var index: Int32 = 0
        while let raw = cll_environment_entry(index) {
            index += 1
            guard strncmp(raw, SettingKey.environmentPrefix, SettingKey.environmentPrefix.utf8.count) == 0 else { continue }
            let parts = String(cString: raw).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, found[String(parts[0])] == nil else { continue }
            found[String(parts[0])] = String(parts[1])
        }
        return found
    }

    /// Writes a line to stderr. Gives up if stderr does not take it.
    static func reportError(_ message: String) {
        var line = Array("\(PlainText.sanitized("lagmonitor: \(message)"))\n".utf8)[...]
        while !line.isEmpty {
            let count = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if count > 0 { line = line.dropFirst(count) } else if errno != EINTR { return }
        }
    }
}
