internal import LagMonitor
internal import LagRemote

extension Settings {
    /// What lagmond runs.
    enum Subject {
        case command, targets, process, workload
    }

    /// Rejects settings that would be ignored, because the user expects an effect.
    func rejectUnusedSettings(on subject: Subject) throws(StartFailure) {
        let given: [(SettingKey, Bool)] = [
            (.duration, duration != nil), (.truth, truthPath != nil),
            (.serviceName, monitor.serviceName != nil), (.requireWatch, requiresWatch), (.perfMap, writesPerfMaps),
            (.process, !selection.processes.isEmpty), (.thread, !selection.threads.isEmpty),
            (.attribute, !attributes.allowed.isEmpty), (.withoutAttribute, !attributes.excluded.isEmpty),
        ]
        let (unused, what): ([SettingKey], String) =
            switch subject {
            case .command: ([.duration, .truth], "a command")
            case .targets: ([.truth, .serviceName, .requireWatch, .perfMap], "targets")
            // lagmond acts on its own commands, never on processes that it did not start.
            case .process: ([.truth, .requireWatch, .perfMap] + explicitPolicyKeys, "a process that already runs")
            case .workload:
                ([.requireWatch, .perfMap] + SettingKey.watchSettings + explicitPolicyKeys, "lagmond's own main thread")
            }
        var others = steps.isEmpty || subject == .workload ? [] : [SettingsFile.stepsKey]
        if !targets.isEmpty, subject == .command || subject == .process { others.append(SettingsFile.targetsKey) }
        let isPolicy = Set(explicitPolicyKeys.map(\.path))
        let keys = unused.filter { key in isPolicy.contains(key.path) || given.contains { $0.1 && $0.0.path == key.path } }
        // One message for all settings with the same remedy.
        var remedies: [(allowed: String, names: [String])] = []
        for (name, allowed) in keys.map({ (names[$0], Self.allowed($0)) }) + others.map({ ($0, Self.allowed($0)) }) {
            if let index = remedies.firstIndex(where: { $0.allowed == allowed }) {
                remedies[index].names.append(name)
            } else {
                remedies.append((allowed, [name]))
            }
        }
        guard remedies.isEmpty else {
            let texts = remedies.map { "\($0.names.joined(separator: ", ")): without effect on \(what) (allowed: \($0.allowed))" }
            throw StartFailure(status: ExitStatus.configuration, message: texts.joined(separator: "; "))
        }
        if subject == .command, policy.onHang == .report, isPolicy.contains(SettingKey.onHangAfter.path) {
            throw StartFailure(
                status: ExitStatus.configuration,
                message:
                    "\(names[.onHangAfter]): without effect while command.on_hang is report (allowed: with signal:NAME or restart)"
            )
        }
    }

    /// Where a setting that has no effect here would have one.
    private static func allowed(_ key: SettingKey) -> String {
        switch key.path {
        case SettingKey.truth.path: "only with a workload"
        case SettingKey.duration.path: "only without a command"
        case SettingKey.serviceName.path: "only without targets: a target's name is its service's"
        case SettingKey.requireWatch.path, SettingKey.perfMap.path: "only with a command"
        default: "only with a command or with targets"
        }
    }

    private static func allowed(_ member: String) -> String {
        member == SettingsFile.stepsKey ? "only with a workload" : "only without a command"
    }
}
