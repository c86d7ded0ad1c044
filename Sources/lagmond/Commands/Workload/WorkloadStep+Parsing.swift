internal import LagMonitor
internal import LagWorkload

// How a step stands in the settings file.
extension WorkloadStep {
    static let members = ["kind", "for_ms", "every_ms", "count", "start_ms"]

    struct ValidationError: Equatable {
        /// The member of the step; empty: the step itself.
        let member: String
        let reason: String
        let allowed: String
    }

    /// Reads one element of the list. Every objection is told; the step is nil when there is one.
    static func read(_ value: JSONValue) -> (step: WorkloadStep?, validationErrors: [ValidationError]) {
        guard case .object(let given) = value else {
            let allowed = "an object with " + members.joined(separator: ", ")
            return (nil, [ValidationError(member: "", reason: "\(value.displayText) is not an object", allowed: allowed)])
        }
        var validationErrors = given.keys.sorted().filter { !members.contains($0) }.map {
            ValidationError(member: $0, reason: "unknown key", allowed: members.joined(separator: ", "))
        }
        func number(_ member: String, _ range: ClosedRange<Int>) -> Int? {
            guard let value = given[member] else { return nil }
            if case .int(let int) = value, range.contains(int) { return int }
            let reason =
                if case .int(let int) = value { "\(int) is out of bounds" } else { "\(value.displayText) is not a whole number" }
            let allowed = "a whole number from \(range.lowerBound) to \(range.upperBound)"
            validationErrors.append(ValidationError(member: member, reason: reason, allowed: allowed))
            return nil
        }
        let kind = readKind(given["kind"], &validationErrors)
        let forMilliseconds = number("for_ms", 0...SettingKey.dayMilliseconds)
        let everyMilliseconds = number("every_ms", 1...SettingKey.dayMilliseconds)
        let count = number("count", 1...1_000_000)
        let startMilliseconds = number("start_ms", 0...SettingKey.dayMilliseconds)
        guard let kind, validationErrors.isEmpty else { return (nil, validationErrors) }
        let step = WorkloadStep(
            kind: kind,
            forMilliseconds: forMilliseconds ?? defaultForMilliseconds,
            everyMilliseconds: everyMilliseconds,
            count: count,
            startMilliseconds: startMilliseconds ?? 0
        )
        return (step, [])
    }

    private static func readKind(_ value: JSONValue?, _ validationErrors: inout [ValidationError]) -> WorkloadKind? {
        let reason: String
        switch value {
        case .string(let name):
            if let kind = WorkloadKind(rawValue: name) { return kind }
            reason = "unknown kind \"\(name)\""
        case .some(let other): reason = "\(other.displayText) is not a kind"
        case nil: reason = "missing"
        }
        let allowed = WorkloadKind.allCases.map(\.rawValue).joined(separator: ", ")
        validationErrors.append(ValidationError(member: "kind", reason: reason, allowed: allowed))
        return nil
    }
}
