internal import LagOutput

/// A setting of the output that would have no effect beside the others.
package struct OutputConflict: Sendable {
    package let key: SettingKey
    package let reason: String
    package let allowed: String
}

extension OutputSettings.Destination {
    /// The only format that a receiver of OTLP takes.
    private var otlpFormat: String { "otlp" }

    var isFile: Bool { if case .file = self { true } else { false } }
    /// Its lines may be kept: the reader may be away for a while.
    var isNetwork: Bool {
        switch self {
        case .stream, .otlp: true
        case .stdout, .file, .journald: false
        }
    }

    /// Whether a setting of ``OutputSettings/conflictingKeys`` has an effect here, whatever the others say.
    fileprivate func uses(_ key: SettingKey) -> Bool {
        switch key.path {
        case SettingKey.spool.path, SettingKey.spoolBytes.path: isNetwork
        default: isFile
        }
    }

    /// Which of these settings this destination would ignore.
    /// - Parameters:
    ///   - text: the destination as it was given.
    ///   - names: of ``OutputSettings/conflictingKeys`` those that are set.
    ///   - format: the value of the last one.
    func conflicts(_ text: String, _ names: Set<String>, format: String?) -> [OutputConflict] {
        var conflicts: [OutputConflict] = []
        let sizes = [SettingKey.outputBytes, .outputFiles].filter { names.contains($0.path) }
        if !isFile {
            conflicts += sizes.map {
                OutputConflict(
                    key: $0,
                    reason: "\(text) is no file and is not rotated",
                    allowed: "only where output.path is a file"
                )
            }
        } else if sizes.map(\.path) == [SettingKey.outputFiles.path] {
            let reason = "without output.max_bytes no file is ever renamed"
            conflicts.append(OutputConflict(key: .outputFiles, reason: reason, allowed: "only with output.max_bytes"))
        }
        if !isFile, names.contains(SettingKey.outputMode.path) {
            conflicts.append(
                OutputConflict(key: .outputMode, reason: "\(text) is no file", allowed: "only where output.path is a file")
            )
        }
        let spool = [SettingKey.spool, .spoolBytes].filter { names.contains($0.path) }
        if !isNetwork {
            let allowed = "only where output.path is unix:SOCKET, tcp:HOST:PORT or otlp:URL"
            conflicts += spool.map { OutputConflict(key: $0, reason: "lines for \(text) are not kept", allowed: allowed) }
        } else if spool.map(\.path) == [SettingKey.spoolBytes.path] {
            let reason = "without output.spool_path no line is kept"
            conflicts.append(OutputConflict(key: .spoolBytes, reason: reason, allowed: "only with output.spool_path"))
        }
        if case .otlp = self, names.contains(SettingKey.format.path), let format, format != otlpFormat {
            let reason = "\(text) takes no lines of format \(format)"
            conflicts.append(OutputConflict(key: .format, reason: reason, allowed: otlpFormat))
        }
        return conflicts
    }
}

extension OutputSettings {
    /// Settings that only some destinations have.
    private static let conflictingKeys = [SettingKey.outputBytes, .outputFiles, .outputMode, .spool, .spoolBytes, .format]

    /// Settings of the output that would be ignored, of one that is checked.
    /// - Parameters:
    ///   - standard: the destination where none is named; nil: there is no output then, and nothing to say.
    ///   - rank: the place of the source that sets a key, strongest 0; nil where none does. What a weaker source than the
    ///     destination's says was meant for a destination that is overruled. Unless given, all come from one source.
    package static func conflicts(
        _ reader: SettingsReader,
        standard: String? = nil,
        rank: (SettingKey) -> Int?
    ) -> [OutputConflict] {
        guard let text = reader.string(for: .output) ?? standard, let destination = try? Destination(text) else { return [] }
        let own = rank(.output) ?? .max
        let keys = conflictingKeys.filter { key in
            // For a file all sizes count, for a stream the folder: a weaker source's is in force there.
            rank(key).map { $0 <= own || destination.uses(key) } ?? false
        }
        return destination.conflicts(text, Set(keys.map(\.path)), format: reader.string(for: .format))
    }

    /// The same where all settings come from one source.
    package static func conflicts(_ reader: SettingsReader) -> [OutputConflict] {
        conflicts(reader) { key in reader.string(for: key) != nil || reader.int(for: key) != nil ? 0 : nil }
    }
}
