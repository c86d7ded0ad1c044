extension SettingProblem {
    /// What is wrong in an environment: names after `LAGMONITOR_` that are not known, and values that are not allowed.
    package static func problems(ofEnvironment environment: [String: String], known keys: [SettingKey]) -> [SettingProblem] {
        let known = Dictionary(uniqueKeysWithValues: keys.map { ($0.environmentName, $0) })
        let ours =
            environment
            .filter { $0.key.hasPrefix(SettingKey.environmentPrefix) && $0.key != SettingKey.pageName }
            .sorted { $0.key < $1.key }
        return ours.compactMap { name, word in
            guard let key = known[name] else {
                let names = keys.map(\.environmentName).joined(separator: ", ")
                return SettingProblem(source: .environment, key: name, wrong: "unknown name", allowed: names)
            }
            guard let wrong = key.objection(to: key.value(of: word)) else { return nil }
            return SettingProblem(source: .environment, key: name, wrong: wrong, allowed: key.allowed)
        }
    }
}
