internal import LagMonitor

/// A parameter of a rule that is not enabled: valid, but without effect.
///
/// One configuration file serves runs with different rules, so this is not an error. It is reported when it cannot be intended:
/// when no stronger source removed the rule, and the rules are not set in the same file.
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

    /// The unused options that are reported.
    static func all(for rules: StallRules, in sources: SettingLayers) -> [UnusedOption] {
        let unused = SettingKey.all.filter { !$0.users.isEmpty && !$0.users.contains { $0.isIncluded(in: rules) } }
        var found: [UnusedOption] = []
        for layer in sources.layers {
            let choosesRules = layer.values[SettingKey.rules.path] != nil
            if choosesRules, case .file = layer.source { break }
            found += unused.filter { layer.values[$0.path] != nil }.map {
                UnusedOption(source: layer.source, key: layer.name(of: $0), users: $0.users)
            }
            if choosesRules { break }
        }
        return found
    }
}
