internal import LagMonitor
internal import LagRemote

extension Settings {
    /// What lagmond runs.
    enum Subject {
        case command, targets, process, workload
    }

    /// Refuses settings that would be ignored: the user expects an effect of them.
    func rejectUnusedSettings(on subject: Subject) throws(StartFailure) {
        let given: [(SettingKey, Bool)] = [
            (.duration, duration != nil), (.truth, truthPath != nil),
            (.serviceName, monitor.serviceName != nil), (.requireWatch, requiresWatch), (.perfMap, writesPerfMaps),
            (.process, !selection.processes.isEmpty), (.thread, !selection.threads.isEmpty),
            (.attribute, !attributes.allowed.isEmpty), (.withoutAttribute, !attributes.excluded.isEmpty),
        ]
        let unused: [SettingKey]
        var others: [String] = []
        let (what, allowed): (String, String)
        switch subject {
        case .command:
            unused = [.duration, .truth]
            (what, allowed) = ("a command", "only without one")
            if !steps.isEmpty { others.append(SettingsFile.stepsKey) }
            if !targets.isEmpty { others.append(SettingsFile.targetsKey) }
        case .targets:
            unused = [.truth, .serviceName, .requireWatch, .perfMap]
            (what, allowed) = ("targets", "only without them; a target's name is its service's")
            if !steps.isEmpty { others.append(SettingsFile.stepsKey) }
        case .process:
            unused = [.truth, .perfMap]
            (what, allowed) = ("a process that runs already", "only with a workload")
            // What is done with a command is nothing that is done with somebody else's process.
            let ofCommands = (requiresWatch ? [SettingKey.requireWatch] : []) + explicitPolicyKeys
            if !ofCommands.isEmpty {
                throw Self.withoutEffect(ofCommands.map(Self.shown), what, allowed: "only with a command or with targets")
            }
            if !steps.isEmpty { others.append(SettingsFile.stepsKey) }
            if !targets.isEmpty { others.append(SettingsFile.targetsKey) }
        case .workload:
            unused = [.requireWatch, .perfMap] + SettingKey.watchSettings
            (what, allowed) = ("lagmond's own main thread", "only with a command or with targets")
            others = explicitPolicyKeys.map(Self.shown)
        }
        let names =
            given.filter { key, isGiven in isGiven && unused.contains { $0.path == key.path } }.map { Self.shown($0.0) } + others
        guard names.isEmpty else { throw Self.withoutEffect(names, what, allowed: allowed) }
        if subject == .command, policy.onHang == .report,
            explicitPolicyKeys.contains(where: { $0.path == SettingKey.onHangAfter.path })
        {
            throw StartFailure(
                status: ExitStatus.configuration,
                message:
                    "\(Self.shown(.onHangAfter)): without effect while command.on_hang is report (allowed: with signal:NAME or restart)"
            )
        }
    }

    private static func withoutEffect(_ names: [String], _ what: String, allowed: String) -> StartFailure {
        StartFailure(
            status: ExitStatus.configuration,
            message: "\(names.joined(separator: ", ")): without effect on \(what) (allowed: \(allowed))"
        )
    }

    private static func shown(_ key: SettingKey) -> String { key.option.map { "\($0) (\(key.path))" } ?? key.path }
}
