extension SettingValidationError {
    /// Errors in an environment: unknown names after `LAGMONITOR_`, and values that are not allowed.
    package static func validationErrors(inEnvironment environment: [String: String], known keys: [SettingKey])
        -> [SettingValidationError]
    {
        let known = Dictionary(uniqueKeysWithValues: keys.map { ($0.environmentName, $0) })
        let ours =
            environment
            .filter { known[$0.key] != nil || isForMonitor($0.key, value: $0.value) }
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

    /// Whether a variable can be meant only for a monitor: it has the prefix, and is neither lagmond's nor a service's.
    package static func isForMonitor(_ name: String, value: String) -> Bool {
        name.hasPrefix(SettingKey.environmentPrefix) && !SettingKey.reservedNames.contains(name)
            && !SettingKey.lagmondNames.contains(name)
            && !isServiceLink(name.dropFirst(SettingKey.environmentPrefix.count), value: value)
    }

    /// Whether this is the variable of a service of the container's namespace. For each service whose name begins with
    /// `lagmonitor`, such as `lagmonitor-metrics`, Kubernetes creates `…_SERVICE_HOST`, `…_SERVICE_PORT`, `…_SERVICE_PORT_NAME`,
    /// and the variables of Docker links: `…_PORT` (a URL), `…_PORT_9464_TCP`, and that with `_PROTO`, `_PORT` and `_ADDR`
    /// (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables).
    private static func isServiceLink(_ name: Substring, value: String) -> Bool {
        let words = name.split(separator: "_", omittingEmptySubsequences: false)
        if words.suffix(2) == ["SERVICE", "HOST"] { return true }
        if words.last == "PORT", ["tcp://", "udp://", "sctp://"].contains(where: value.hasPrefix) { return true }
        return words.indices.contains { index in
            let rest = words[(index + 1)...]
            switch words[index] {
            case "SERVICE": return rest.first == "PORT"
            case "PORT":
                guard rest.count >= 2, UInt16(rest[index + 1]) != nil, ["TCP", "UDP", "SCTP"].contains(rest[index + 2]) else {
                    return false
                }
                let last = rest.dropFirst(2)
                return last.isEmpty || last.count == 1 && ["PROTO", "PORT", "ADDR"].contains(last[index + 3])
            default: return false
            }
        }
    }
}
