internal import LagOutput

/// An output setting that has no effect together with the others.
package struct OutputConflict: Sendable {
    package let key: SettingKey
    package let reason: String
    package let allowed: String
}

extension OutputSettings.Destination {
    /// The only format that an OTLP receiver accepts.
    private var otlpFormat: String { "otlp" }

    var isFile: Bool { if case .file = self { true } else { false } }
    /// Its lines may be kept: the reader may be away for a while.
    var isNetwork: Bool {
        switch self {
        case .stream, .otlp: true
        case .stdout, .file, .journald: false
        }
    }

    /// Whether a setting of ``OutputSettings/conflictingKeys`` has an effect here, regardless of the other settings.
    fileprivate func uses(_ key: SettingKey) -> Bool {
        switch key.path {
        case SettingKey.spool.path, SettingKey.spoolBytes.path: isNetwork
        default: isFile
        }
    }

    /// The given settings that this destination would ignore.
    /// - Parameters:
    ///   - text: the destination as it was given.
    ///   - names: those of ``OutputSettings/conflictingKeys`` that are set.
    ///   - format: the value of the last one.
    func conflicts(_ text: String, _ names: Set<String>, format: String?) -> [OutputConflict] {
        var conflicts: [OutputConflict] = []
        let sizes = [SettingKey.outputBytes, .outputFiles].filter { names.contains($0.path) }
        if !isFile {
            conflicts += sizes.map {
                OutputConflict(
                    key: $0,
                    reason: "\(text) is not a file and is not rotated",
                    allowed: "only if output.path is a file"
                )
            }
        } else if sizes.map(\.path) == [SettingKey.outputFiles.path] {
            let reason = "without output.max_bytes no file is ever renamed"
            conflicts.append(OutputConflict(key: .outputFiles, reason: reason, allowed: "only with output.max_bytes"))
        }
        if !isFile, names.contains(SettingKey.outputMode.path) {
            conflicts.append(
                OutputConflict(key: .outputMode, reason: "\(text) is not a file", allowed: "only if output.path is a file")
            )
        }
        let spool = [SettingKey.spool, .spoolBytes].filter { names.contains($0.path) }
        if !isNetwork {
            let allowed = "only if output.path is unix:SOCKET, tcp:HOST:PORT or otlp:URL"
            conflicts += spool.map { OutputConflict(key: $0, reason: "lines for \(text) are not kept", allowed: allowed) }
        } else if spool.map(\.path) == [SettingKey.spoolBytes.path] {
            let reason = "without output.spool_path no line is kept"
            conflicts.append(OutputConflict(key: .spoolBytes, reason: reason, allowed: "only with output.spool_path"))
        }
        if case .otlp = self, names.contains(SettingKey.format.path), let format, format != otlpFormat {
            let reason = "\(text) does not accept lines of format \(format)"
            conflicts.append(OutputConflict(key: .format, reason: reason, allowed: otlpFormat))
        }
        return conflicts
    }
}

extension OutputSettings {
    /// Settings that only some destinations have.
    private static let conflictingKeys = [SettingKey.outputBytes, .outputFiles, .outputMode, .spool, .spoolBytes, .format]

    /// Output settings that would be ignored. The settings must have been checked.
    /// - Parameters:
    ///   - standard: the destination if none is named; nil: then there is no output, and no conflict.
    ///   - rank: the rank of the source that sets a key, strongest 0; nil if none does. A setting from a weaker source than the
    ///     destination's was meant for a destination that is overridden. By default, all come from one source.
    package static func conflicts(
        _ reader: SettingsReader,
        standard: String? = nil,
        rank: (SettingKey) -> Int?
    ) -> [OutputConflict] {
        guard let text = reader.string(for: .output) ?? standard, let destination = try? Destination(text) else { return [] }
        let own = rank(.output) ?? .max
        let keys = conflictingKeys.filter { key in
            // For a file all sizes count, for a stream the folder: a weaker source's value applies to these.
            rank(key).map { $0 <= own || destination.uses(key) } ?? false
        }
        return destination.conflicts(text, Set(keys.map(\.path)), format: reader.string(for: .format))
    }

    /// The same if all settings come from one source.
    package static func conflicts(_ reader: SettingsReader) -> [OutputConflict] {
        conflicts(reader) { key in reader.string(for: key) != nil || reader.int(for: key) != nil ? 0 : nil }
    }
}
