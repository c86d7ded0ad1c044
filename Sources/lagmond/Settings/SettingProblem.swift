/// One wrong setting: where it stands, what is wrong with it, what is allowed.
struct SettingProblem: Equatable, CustomStringConvertible {
    enum Source: Equatable {
        case file(String)
        case environment
        case commandLine

        /// How a message names a key of this source; an empty key: the whole source.
        func place(of key: String) -> String {
            switch self {
            case .file(let path): key.isEmpty ? path : "\(path): \(key)"
            case .environment: "environment variable \(key)"
            case .commandLine: "option \(key)"
            }
        }
    }

    let source: Source
    /// The key as its source spells it: `workload.steps[3].kind`, `LAGMONITOR_OUTPUT_PATH`, `--preset`. Empty: the whole source.
    let key: String
    let wrong: String
    let allowed: String

    var description: String { "\(source.place(of: key)): \(wrong); allowed: \(allowed)" }
}

/// Every problem found in the settings; there is at least one.
struct SettingsError: Error, Equatable {
    let problems: [SettingProblem]
}
