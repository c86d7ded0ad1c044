/// One wrong setting: its location, what is wrong with it, what is allowed.
package struct SettingValidationError: Sendable, Equatable, CustomStringConvertible {
    package enum Source: Sendable, Equatable {
        case file(String)
        case environment
        case commandLine

        /// How a message names a key of this source; an empty key: the whole source.
        package func location(of key: String) -> String {
            switch self {
            case .file(let path): key.isEmpty ? path : "\(path): \(key)"
            case .environment: "environment variable \(key)"
            case .commandLine: "option \(key)"
            }
        }
    }

    package let source: Source
    /// The key as its source spells it: `workload.steps[3].kind`, `LAGMONITOR_OUTPUT_PATH`, `--preset`. Empty: the whole source.
    package let key: String
    package let reason: String
    package let allowed: String

    package init(source: Source, key: String, reason: String, allowed: String) {
        self.source = source
        self.key = key
        self.reason = reason
        self.allowed = allowed
    }

    package var description: String { "\(source.location(of: key)): \(reason); allowed: \(allowed)" }
}
