internal import LagMonitor
internal import LagMonitorDelivery
internal import LagRemote

extension Settings {
    /// Combines the sources: command line over environment over file, and the defaults below all of them.
    ///
    /// Every source is checked in full, even if a stronger source overrides it: a wrong value is an error even while it
    /// has no effect.
    ///
    /// - Parameters:
    ///   - commandLine: values by key path, as the options gave them.
    ///   - environment: the whole environment; only names with the prefix `LAGMONITOR_` are read.
    ///   - isForCommand: a command is run; without an output its lines go to ``CommandLauncher/defaultOutput``, like those of
    ///     targets.
    /// - Throws: ``SettingsError`` with all errors.
    static func load(
        commandLine: [String: JSONValue],
        environment: [String: String],
        isForCommand: Bool = false
    ) throws(SettingsError) -> Settings {
        Delivery.enable()
        var problems = errors(inCommandLine: commandLine)
        problems += SettingValidationError.validationErrors(inEnvironment: environment, known: SettingKey.all)
        guard problems.isEmpty else { throw SettingsError(errors: problems) }
        var sources = SettingLayers(layers: [
            .init(source: .commandLine, values: commandLine),
            .init(source: .environment, values: values(inEnvironment: environment)),
        ])
        let file = sources.string(.config).map(SettingsFile.init(path:)) ?? SettingsFile()
        guard file.problems.isEmpty else { throw SettingsError(errors: file.problems) }
        let overFile = sources.layers
        sources.layers.append(.init(source: .file(file.path), values: file.values))

        let standard = isForCommand || !file.targets.isEmpty ? CommandLauncher.defaultOutput : "-"
        let headers = outputHeaders(sources, environment, standard: standard)
        problems = outputConflicts(sources, standard: standard) + headers.problems
        guard problems.isEmpty else { throw SettingsError(errors: problems) }

        var settings = Settings(sources)
        settings.steps = file.steps
        settings.outputHeaders = headers.fields
        settings.unusedOptions = UnusedOption.all(for: settings.monitor.rules, in: sources)
        for (number, target) in file.targets.enumerated() {
            let own = SettingLayers.Layer(source: .file(file.path), values: target.values, target: number)
            let layers = SettingLayers(layers: overFile + [own, sources.layers[overFile.count]])
            let read = Settings(layers)
            // A stronger source may disable the action, for a trial.
            let isOverruled = layers.rank(.onHang).map { $0 < overFile.count } ?? false
            if own.values[SettingKey.onHangAfter.path] != nil, read.policy.onHang == .report, !isOverruled {
                problems.append(
                    SettingValidationError(
                        source: own.source,
                        key: own.name(of: .onHangAfter),
                        reason: "without effect while on_hang is report",
                        allowed: "with signal:NAME or restart"
                    )
                )
            }
            settings.targets.append(TargetSettings(target, read))
            let known = settings.unusedOptions
            settings.unusedOptions += UnusedOption.all(for: read.monitor.rules, in: layers).filter { !known.contains($0) }
        }
        guard problems.isEmpty else { throw SettingsError(errors: problems) }
        return settings
    }

    private static func values(inEnvironment environment: [String: String]) -> [String: JSONValue] {
        SettingKey.all.reduce(into: [:]) { values, key in
            values[key.path] = environment[key.environmentName].map(key.value(of:))
        }
    }

    /// Settings of the output that would be ignored.
    private static func outputConflicts(_ sources: SettingLayers, standard: String) -> [SettingValidationError] {
        OutputSettings.conflicts(sources.reader, standard: standard, rank: sources.rank).map { conflict in
            let source = sources.layers[sources.rank(conflict.key) ?? 0].source
            return SettingValidationError(
                source: source,
                key: conflict.key.name(in: source),
                reason: conflict.reason,
                allowed: conflict.allowed
            )
        }
    }

    /// The effective headers, and their errors: a missing variable, a destination that takes no headers.
    private static func outputHeaders(
        _ sources: SettingLayers,
        _ environment: [String: String],
        standard: String
    ) -> (fields: [String: String], problems: [SettingValidationError]) {
        guard let own = sources.rank(.headers), let text = sources.string(.headers) else { return ([:], []) }
        let source = sources.layers[own].source
        func problem(_ reason: String, _ allowed: String) -> SettingValidationError {
            SettingValidationError(source: source, key: SettingKey.headers.name(in: source), reason: reason, allowed: allowed)
        }
        let destination = sources.string(.output) ?? standard
        guard case .otlp? = try? OutputSettings(destination).destination else {
            // They were meant for a destination that a stronger source overrides.
            if own > sources.rank(.output) ?? .max { return ([:], []) }
            return ([:], [problem("\(destination) takes no headers", "only if output.path is otlp:URL")])
        }
        do throws(OutputHeaders.ValidationError) {
            return (try OutputHeaders(text, environment: environment).fields, [])
        } catch {
            return ([:], [problem(error.reason, OutputHeaders.allowed)])
        }
    }

    private static func errors(inCommandLine values: [String: JSONValue]) -> [SettingValidationError] {
        SettingKey.all.compactMap { key in
            guard let value = values[key.path], let option = key.option, let reason = key.validationError(for: value) else {
                return nil
            }
            return SettingValidationError(source: .commandLine, key: option, reason: reason, allowed: key.allowed)
        }
    }

    private init(_ sources: SettingLayers) {
        let overPreset = sources.rank(.preset).map(sources.through) ?? sources
        monitor = StallMonitorConfiguration(sources.reader, overPreset: overPreset.reader)
        // The child process that resolves lines belongs to lagmond, not to the watched program.
        if !sources.isSet(.symbols) { monitor.symbols = .lines }
        if let output = OutputSettings(sources.reader) {
            self.output = output
            choosesOutput = true
        }
        defaultRotation = OutputSettings.rotation(sources.reader)
        defaultPermissions = OutputSettings.permissions(sources.reader)
        choosesUnfinished = sources.isSet(.unfinished)
        choosesRules = sources.isSet(.rules) || sources.isSet(.starvation)
        truthPath = sources.string(.truth)
        policy = CommandPolicy(sources)
        explicitPolicyKeys = SettingKey.commandSettings.filter(sources.isSet)
        listen = sources.string(.listen).flatMap(ListenAddress.init)
        let reader = sources.reader
        selection = LoopSelection(processes: reader.texts(for: .process) ?? [], threads: reader.texts(for: .thread) ?? [])
        attributes = PublishedAttributes(
            allowed: reader.texts(for: .attribute) ?? [],
            excluded: reader.texts(for: .withoutAttribute) ?? []
        )
        requiresWatch = sources.string(.requireWatch) == "yes"
        writesPerfMaps = sources.string(.perfMap) == "yes"
        duration = sources.seconds(.duration)
        names = sources.names
    }
}

extension CommandPolicy {
    /// Fills in the defaults.
    fileprivate init(_ settings: SettingLayers) {
        self.init()
        if let action = settings.string(.onHang).flatMap(OnHang.init) { onHang = action }
        if let after = settings.seconds(.onHangAfter) { onHangAfter = after }
        restartsOnFailure = settings.string(.restart) == "on-failure"
        if let delay = settings.milliseconds(.restartDelay) { restarts.firstDelay = delay }
        if let longest = settings.milliseconds(.restartLongestDelay) { restarts.longestDelay = longest }
        if let healthy = settings.seconds(.restartHealthy) { restarts.healthyAfter = healthy }
        if let count = settings.int(.restartCount) { restarts.count = count }
        if let window = settings.seconds(.restartWindow) { restarts.window = window }
        if let grace = settings.seconds(.stopGrace) { stopGrace = grace }
    }
}
