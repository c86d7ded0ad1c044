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
        var problems = validationErrors(toCommandLine: commandLine)
        problems += SettingValidationError.validationErrors(inEnvironment: environment, known: SettingKey.all)
        let overFile: [any ConfigProvider] = [
            memory("command line", commandLine),
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "lagmonitor"),
        ]
        var file = SettingsFile()
        if problems.isEmpty, let path = ConfigReader(providers: overFile).string(for: .config) {
            file = SettingsFile(path: path)
            problems += file.problems
        }
        guard problems.isEmpty else { throw SettingsError(errors: problems) }
        let sources: [(SettingValidationError.Source, any ConfigProvider)] = [
            (.commandLine, overFile[0]), (.environment, overFile[1]), (.file(file.path), memory("file", file.values)),
        ]
        let headers = outputHeaders(sources, environment)
        problems = outputConflicts(sources) + headers.problems
        guard problems.isEmpty else { throw SettingsError(errors: problems) }

        var settings = Settings(providers: overFile + [memory("file", file.values)])
        settings.steps = file.steps
        settings.targets = file.targets.map { target in
            let own = Settings(providers: overFile + [memory("target", target.values), memory("file", file.values)])
            return TargetSettings(target, own)
        }
        settings.outputHeaders = headers.fields
        settings.unusedOptions = UnusedOption.all(
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

    /// Settings of the output that would be ignored.
    /// - Parameter sources: strongest first.
    private static func outputConflicts(_ sources: [(SettingValidationError.Source, any ConfigProvider)]) -> [SettingValidationError] {
        let readers = sources.map { ConfigReader(providers: [$0.1]) }
        func rank(_ key: SettingKey) -> Int? { readers.firstIndex { $0.isSet(key) } }
        let reader = ConfigReader(providers: sources.map(\.1)).checked
        return OutputSettings.conflicts(reader, standard: "-", rank: rank).map { conflict in
            let source = sources[rank(conflict.key) ?? 0].0
            return SettingValidationError(
                source: source,
                key: conflict.key.name(in: source),
                reason: conflict.reason,
                allowed: conflict.allowed
            )
        }
    }

    /// The headers in force, and what is wrong with them: a variable that is missing, a destination that takes none.
    /// - Parameter sources: strongest first.
    private static func outputHeaders(
        _ sources: [(SettingValidationError.Source, any ConfigProvider)],
        _ environment: [String: String]
    ) -> (fields: [String: String], problems: [SettingValidationError]) {
        func rank(_ key: SettingKey) -> Int? { sources.firstIndex { ConfigReader(providers: [$0.1]).string(for: key) != nil } }
        let reader = ConfigReader(providers: sources.map(\.1))
        guard let own = rank(.headers), let text = reader.string(for: .headers) else { return ([:], []) }
        let source = sources[own].0
        func problem(_ reason: String, _ allowed: String) -> SettingValidationError {
            SettingValidationError(source: source, key: SettingKey.headers.name(in: source), reason: reason, allowed: allowed)
        }
        let destination = reader.string(for: .output) ?? "-"
        guard case .otlp? = try? OutputSettings(destination).destination else {
            // Meant for a destination that a stronger source overruled.
            if own > rank(.output) ?? .max { return ([:], []) }
            return ([:], [problem("\(destination) takes no headers", "only where output.path is otlp:URL")])
        }
        do throws(OutputHeaders.ValidationError) {
            return (try OutputHeaders(text, environment: environment).fields, [])
        } catch {
            return ([:], [problem(error.reason, OutputHeaders.allowed)])
        }
    }

    private static func validationErrors(toCommandLine values: [String: JSONValue]) -> [SettingValidationError] {
        SettingKey.all.compactMap { key in
            guard let value = values[key.path], let option = key.option, let reason = key.validationError(for: value) else { return nil }
            return SettingValidationError(source: .commandLine, key: option, reason: reason, allowed: key.allowed)
        }
    }

    /// - Parameter providers: strongest first, their values already checked.
    private init(providers: [any ConfigProvider]) {
        let reader = ConfigReader(providers: providers)
        let presetSource = providers.firstIndex { ConfigReader(provider: $0).string(for: .preset) != nil }
        let overPreset = presetSource.map { ConfigReader(providers: Array(providers[...$0])) } ?? reader
        monitor = StallMonitorConfiguration(reader.checked, overPreset: overPreset.checked)
        if let output = OutputSettings(reader.checked) {
            self.output = output
            choosesOutput = true
        }
        choosesUnfinished = reader.string(for: .unfinished) != nil
        choosesRules = reader.string(for: .rules) != nil || reader.int(forKey: ConfigKey(SettingKey.starvation.path)) != nil
        truthPath = reader.string(for: .truth)
        policy = CommandPolicy(reader)
        explicitPolicyKeys = SettingKey.commandSettings.filter { reader.isSet($0) }
        listen = reader.string(for: .listen).flatMap(ListenAddress.init)
        duration = reader.double(forKey: ConfigKey(SettingKey.duration.path)).map { .seconds($0) }
    }
}

extension ConfigReader {
    fileprivate func string(for key: SettingKey) -> String? { string(forKey: ConfigKey(key.path)) }

    fileprivate func isSet(_ key: SettingKey) -> Bool {
        let key = ConfigKey(key.path)
        return string(forKey: key) != nil || int(forKey: key) != nil || double(forKey: key) != nil
    }

    fileprivate func seconds(for key: SettingKey) -> Duration? { double(forKey: ConfigKey(key.path)).map { .seconds($0) } }
    fileprivate func milliseconds(for key: SettingKey) -> Duration? { int(forKey: ConfigKey(key.path)).map { .milliseconds($0) } }

    /// As the monitor reads its settings.
    fileprivate var checked: SettingsReader {
        SettingsReader(
            string: { string(forKey: ConfigKey($0.path)) },
            int: { int(forKey: ConfigKey($0.path)) },
            texts: { stringArray(forKey: ConfigKey($0.path)) }
        )
    }
}

extension CommandPolicy {
    /// Of checked settings; the defaults where they say nothing.
    fileprivate init(_ reader: ConfigReader) {
        self.init()
        if let action = reader.string(for: .onHang).flatMap(OnHang.init) { onHang = action }
        if let after = reader.seconds(for: .onHangAfter) { onHangAfter = after }
        restartsOnFailure = reader.string(for: .restart) == "on-failure"
        if let delay = reader.milliseconds(for: .restartDelay) { restarts.firstDelay = delay }
        if let longest = reader.milliseconds(for: .restartLongestDelay) { restarts.longestDelay = longest }
        if let healthy = reader.seconds(for: .restartHealthy) { restarts.healthyAfter = healthy }
        if let count = reader.int(forKey: ConfigKey(SettingKey.restartCount.path)) { restarts.count = count }
        if let window = reader.seconds(for: .restartWindow) { restarts.window = window }
        if let grace = reader.seconds(for: .stopGrace) { stopGrace = grace }
    }
}
