internal import LagMonitor

/// A parameter of a rule that is not among the rules: right, but without effect.
///
/// One configuration file serves runs with different rules, so this is no error. It is told where it cannot have been meant:
/// when nothing stronger took the rule away, and the rules do not stand in the same file.
struct UnusedOption: Equatable, CustomStringConvertible {
    let source: SettingValidationError.Source
    /// The key as its source spells it.
    let key: String
    /// The rules that would use it.
    let users: [RuleName]

    var description: String {
        let names = users.map(\.rawValue)
        let missing = names.count == 1 ? "\(names[0]) is not" : "neither \(names.joined(separator: " nor ")) is"
        return "\(source.location(of: key)): no effect, because \(missing) among the rules"
    }

    /// Those that are worth a line.
    static func all(
        for rules: StallRules,
        commandLine: [String: JSONValue],
        environment: [String: String],
        file: SettingsFile
    ) -> [UnusedOption] {
        // Strongest first.
        let sources: [(source: SettingValidationError.Source, isShared: Bool, says: (SettingKey) -> Bool)] = [
            (.commandLine, false, { commandLine[$0.path] != nil }),
            (.environment, false, { environment[$0.environmentName] != nil }),
            (.file(file.path), true, { file.values[$0.path] != nil }),
        ]
        let unused = SettingKey.all.filter { !$0.users.isEmpty && !$0.users.contains { $0.isIncluded(in: rules) } }
        var found: [UnusedOption] = []
        for (source, isShared, says) in sources {
            let choosesRules = says(.rules)
            if choosesRules, isShared { break }
            found += unused.filter(says).map { UnusedOption(source: source, key: $0.name(in: source), users: $0.users) }
            if choosesRules { break }
        }
        return found
    }
}
