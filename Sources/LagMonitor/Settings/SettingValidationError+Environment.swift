extension SettingValidationError {
    /// What is wrong in an environment: names after `LAGMONITOR_` that are not known, and values that are not allowed.
    package static func validationErrors(inEnvironment environment: [String: String], known keys: [SettingKey])
        -> [SettingValidationError]
    {
        let known = Dictionary(uniqueKeysWithValues: keys.map { ($0.environmentName, $0) })
        let ours =
            environment
            .filter { $0.key.hasPrefix(SettingKey.environmentPrefix) && !SettingKey.reservedNames.contains($0.key) }
            .filter { known[$0.key] != nil || !isServiceLink($0.key.dropFirst(SettingKey.environmentPrefix.count)) }
            .sorted { $0.key < $1.key }
        return ours.compactMap { name, word in
            guard let key = known[name] else {
                let names = keys.map(\.environmentName).joined(separator: ", ")
                return SettingValidationError(source: .environment, key: name, reason: "unknown name", allowed: names)
            }
            guard let reason = key.validationError(for: key.value(of: word)) else { return nil }
            return SettingValidationError(source: .environment, key: name, reason: reason, allowed: key.allowed)
        }
    }

    /// Kubernetes gives each container such variables of each service of its namespace: of one with the name `lagmonitor`, too.
    private static func isServiceLink(_ name: Substring) -> Bool {
        name == "PORT" || name == "SERVICE_HOST" || name.hasPrefix("PORT_") || name.hasPrefix("SERVICE_PORT")
    }
}
