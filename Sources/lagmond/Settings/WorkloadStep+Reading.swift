internal import LagMonitor
internal import LagWorkload

// How a step stands in the settings file.
extension WorkloadStep {
    static let members = ["kind", "for_ms", "every_ms", "count", "start_ms"]

    struct Objection: Equatable {
        /// The member of the step; empty: the step itself.
        let member: String
        let wrong: String
        let allowed: String
    }

    /// Reads one element of the list. Every objection is told; the step is nil when there is one.
    static func read(_ value: JSONValue) -> (step: WorkloadStep?, objections: [Objection]) {
        guard case .object(let given) = value else {
            let allowed = "an object with " + members.joined(separator: ", ")
            return (nil, [Objection(member: "", wrong: "\(value.shown) is not an object", allowed: allowed)])
        }
        var objections = given.keys.sorted().filter { !members.contains($0) }.map {
            Objection(member: $0, wrong: "unknown key", allowed: members.joined(separator: ", "))
        }
        func number(_ member: String, _ range: ClosedRange<Int>) -> Int? {
            guard let value = given[member] else { return nil }
            if case .int(let int) = value, range.contains(int) { return int }
            let wrong =
                if case .int(let int) = value { "\(int) is out of bounds" } else { "\(value.shown) is not a whole number" }
            let allowed = "a whole number from \(range.lowerBound) to \(range.upperBound)"
            objections.append(Objection(member: member, wrong: wrong, allowed: allowed))
            return nil
        }
        let kind = readKind(given["kind"], &objections)
        let forMilliseconds = number("for_ms", 0...SettingKey.dayMilliseconds)
        let everyMilliseconds = number("every_ms", 1...SettingKey.dayMilliseconds)
        let count = number("count", 1...1_000_000)
        let startMilliseconds = number("start_ms", 0...SettingKey.dayMilliseconds)
        guard let kind, objections.isEmpty else { return (nil, objections) }
        let step = WorkloadStep(
            kind: kind,
            forMilliseconds: forMilliseconds ?? defaultForMilliseconds,
            everyMilliseconds: everyMilliseconds,
            count: count,
            startMilliseconds: startMilliseconds ?? 0
        )
        return (step, [])
    }

    private static func readKind(_ value: JSONValue?, _ objections: inout [Objection]) -> WorkloadKind? {
        let wrong: String
        switch value {
        case .string(let name):
            if let kind = WorkloadKind(rawValue: name) { return kind }
            wrong = "unknown kind \"\(name)\""
        case .some(let other): wrong = "\(other.shown) is not a kind"
        case nil: wrong = "missing"
        }
        let allowed = WorkloadKind.allCases.map(\.rawValue).joined(separator: ", ")
        objections.append(Objection(member: "kind", wrong: wrong, allowed: allowed))
        return nil
    }
}
