internal import Configuration
internal import LagMonitor

extension Settings {
    /// Puts the settings together: command line over environment over file, and the defaults below them all.
    ///
    /// Every source is checked in full, also where a stronger source has the last word: a wrong line is wrong
    /// even while it is overruled.
    ///
    /// - Parameters:
    ///   - commandLine: values by key path, as the options gave them.
    ///   - environment: the whole environment; names outside `LAGMONITOR_` are nobody's business here.
    /// - Throws: ``SettingsError`` with everything that is wrong.
    static func load(commandLine: [String: JSONValue], environment: [String: String]) throws(SettingsError) -> Settings {
        var problems = objections(toCommandLine: commandLine) + objections(toEnvironment: environment)
        let overFile: [any ConfigProvider] = [
            memory("command line", commandLine),
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "lagmonitor"),
        ]
        var file = SettingsFile()
        if problems.isEmpty, let path = ConfigReader(providers: overFile).string(for: .config) {
            file = SettingsFile(path: path)
            problems += file.problems
        }
        guard problems.isEmpty else { throw SettingsError(problems: problems) }

        var settings = Settings(providers: overFile + [memory("file", file.values)])
        settings.steps = file.steps
        settings.idleParameters = IdleParameter.all(
            for: settings.monitor.rules,
            commandLine: commandLine,
            environment: environment,
            file: file
        )
        return settings
    }

    private static func memory(_ name: String, _ values: [String: JSONValue]) -> InMemoryProvider {
        var contents: [AbsoluteConfigKey: ConfigValue] = [:]
        for key in SettingKey.all {
            guard let content = values[key.path].flatMap(key.content) else { continue }
            contents[AbsoluteConfigKey(key.path.split(separator: ".").map(String.init))] = ConfigValue(content, isSecret: false)
        }
        return InMemoryProvider(name: name, values: contents)
    }

    private static func objections(toCommandLine values: [String: JSONValue]) -> [SettingProblem] {
        SettingKey.all.compactMap { key in
            guard let value = values[key.path], let option = key.option, let wrong = key.objection(to: value) else { return nil }
            return SettingProblem(source: .commandLine, key: option, wrong: wrong, allowed: key.allowed)
        }
    }

    private static func objections(toEnvironment environment: [String: String]) -> [SettingProblem] {
        let known = Dictionary(uniqueKeysWithValues: SettingKey.all.map { ($0.environmentName, $0) })
        let ours = environment.filter { $0.key.hasPrefix(SettingKey.environmentPrefix) }.sorted { $0.key < $1.key }
        return ours.compactMap { name, word in
            guard let key = known[name] else {
                let names = SettingKey.all.map(\.environmentName).joined(separator: ", ")
                return SettingProblem(source: .environment, key: name, wrong: "unknown name", allowed: names)
            }
            guard let wrong = key.objection(to: key.value(of: word)) else { return nil }
            return SettingProblem(source: .environment, key: name, wrong: wrong, allowed: key.allowed)
        }
    }

    /// - Parameter providers: strongest first, their values already checked.
    private init(providers: [any ConfigProvider]) {
        let reader = ConfigReader(providers: providers)
        // A preset stands for an interval and a count. Where a stronger source names a preset, a weaker source's
        // interval must not spoil it, so these are read from the preset's own source upward.
        let presetSource = providers.firstIndex { ConfigReader(provider: $0).string(for: .preset) != nil }
        let preset = reader.string(for: .preset).flatMap(DetectionPreset.init(rawValue:))
        let overPreset = presetSource.map { ConfigReader(providers: Array(providers[...$0])) } ?? reader
        if let preset { monitor = .preset(preset) }
        monitor.rules = StallRules(reader, overPreset: overPreset, preset: monitor.rules)
        if let restore = overPreset.milliseconds(for: .restore) { monitor.restoreInterval = restore }
        if let grace = reader.milliseconds(for: .startupGrace) { monitor.startupGrace = grace }
        if let hangAfter = reader.milliseconds(for: .hangAfter) { monitor.hangAfter = hangAfter }
        monitor.limits = RecordLimits(reader)
        monitor.recurrence = RecurrenceRule(reader)
        if let prefixes = reader.stringArray(forKey: ConfigKey(SettingKey.inAppPrefixes.path)) {
            // An empty variable is a list of one empty text.
            monitor.inAppPrefixes = prefixes.filter { !$0.isEmpty }
        }
        if let samples = reader.string(for: .samples).flatMap(LagMonitorConfiguration.Samples.init) { monitor.samples = samples }
        if let symbols = reader.string(for: .symbols).flatMap(LagMonitorConfiguration.Symbols.init) { monitor.symbols = symbols }
        if let bytes = reader.int(for: .lineBytes) { monitor.maxLineBytes = bytes }
        if let frames = reader.int(for: .frames) { monitor.maxFrames = frames }
        monitor.serviceName = reader.string(for: .serviceName)
        monitor.serviceVersion = reader.string(for: .serviceVersion)
        if let path = reader.string(for: .output) { outputPath = path }
        truthPath = reader.string(for: .truth)
        duration = reader.double(forKey: ConfigKey(SettingKey.duration.path)).map { .seconds($0) }
    }
}
