internal import LagMonitor

/// The settings of several sources, strongest first. Every value has been checked.
struct SettingLayers {
    struct Layer {
        let source: SettingValidationError.Source
        /// By the key's path.
        let values: [String: JSONValue]
        /// The index of the target that these settings belong to.
        var target: Int?

        /// How the source spells a key: `--rules`, `monitor.rules`, `targets[0].on_hang`.
        func name(of key: SettingKey) -> String {
            guard let target else { return key.name(in: source) }
            let prefix = ParsedTarget.commandPrefix
            return
                "\(SettingsFile.targetsKey)[\(target)].\(key.path.hasPrefix(prefix) ? String(key.path.dropFirst(prefix.count)) : key.path)"
        }
    }

    var layers: [Layer]

    /// The index of the strongest source that sets a key; nil if none does.
    func rank(_ key: SettingKey) -> Int? { layers.firstIndex { $0.values[key.path] != nil } }

    /// The strongest sources, up to and including the one at `rank`.
    func through(_ rank: Int) -> SettingLayers { SettingLayers(layers: Array(layers[...rank])) }

    /// The names of the settings for messages: as the strongest source of each spells them.
    var names: SettingNames {
        SettingNames(
            SettingKey.all.reduce(into: [:]) { names, key in
                guard let rank = rank(key) else { return }
                names[key.path] = layers[rank].source.location(of: layers[rank].name(of: key))
            }
        )
    }

    func isSet(_ key: SettingKey) -> Bool { rank(key) != nil }

    private func value(_ key: SettingKey) -> JSONValue? { layers.lazy.compactMap { $0.values[key.path] }.first }

    func string(_ key: SettingKey) -> String? {
        switch value(key) {
        case .string(let text): text
        // `http.listen` may be a port alone.
        case .int(let int): "\(int)"
        default: nil
        }
    }

    func int(_ key: SettingKey) -> Int? { if case .int(let int) = value(key) { int } else { nil } }
    func milliseconds(_ key: SettingKey) -> Duration? { int(key).map { .milliseconds($0) } }

    func seconds(_ key: SettingKey) -> Duration? {
        switch value(key) {
        case .int(let int): .seconds(int)
        case .double(let double): .seconds(double)
        default: nil
        }
    }

    /// A reader for the monitor's settings.
    var reader: SettingsReader {
        var values: [String: JSONValue] = layers.reduce(into: [:]) { $0.merge($1.values) { strong, _ in strong } }
        // Each source adds labels; for the same name, the strongest source wins.
        let labels = LabelPairs.merged(layers.compactMap { $0.values[SettingKey.labels.path] })
        if !labels.isEmpty { values[SettingKey.labels.path] = .object(labels.mapValues(JSONValue.string)) }
        return SettingsReader(values)
    }
}
