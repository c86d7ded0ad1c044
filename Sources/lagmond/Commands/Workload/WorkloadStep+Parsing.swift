internal import LagMonitor
internal import LagWorkload

/// The elements of `workload.steps`, for readers of the settings, which do not import the workload.
enum WorkloadStepSettings {
    static func errors(in value: JSONValue) -> [ElementError] { WorkloadStep.read(value).errors }
}

extension Settings {
    /// The steps that stall the main thread; empty: none.
    var workloadSteps: [WorkloadStep] { steps.compactMap { WorkloadStep.read($0).step } }
}

// A step in the settings file.
extension WorkloadStep {
    static let members = ["kind", "for_ms", "every_ms", "count", "start_ms"]

    /// Parses one element of the list. Every error is reported; after an error the step is nil.
    static func read(_ value: JSONValue) -> (step: WorkloadStep?, errors: [ElementError]) {
        guard case .object(let given) = value else {
            let allowed = "an object with " + members.joined(separator: ", ")
            return (nil, [ElementError(member: "", reason: "\(value.displayText) is not an object", allowed: allowed)])
        }
        var errors = given.keys.sorted().filter { !members.contains($0) }.map {
            ElementError(member: $0, reason: "unknown key", allowed: members.joined(separator: ", "))
        }
        func number(_ member: String, _ range: ClosedRange<Int>) -> Int? {
            guard let value = given[member] else { return nil }
            if case .int(let int) = value, range.contains(int) { return int }
            let reason =
                if case .int(let int) = value { "\(int) is out of bounds" } else { "\(value.displayText) is not a whole number" }
            let allowed = "a whole number from \(range.lowerBound) to \(range.upperBound)"
            errors.append(ElementError(member: member, reason: reason, allowed: allowed))
            return nil
        }
        let kind = readKind(given["kind"], &errors)
        let forMilliseconds = number("for_ms", 0...SettingKey.dayMilliseconds)
        let everyMilliseconds = number("every_ms", 1...SettingKey.dayMilliseconds)
        let count = number("count", 1...1_000_000)
        let startMilliseconds = number("start_ms", 0...SettingKey.dayMilliseconds)
        guard let kind, errors.isEmpty else { return (nil, errors) }
        let step = WorkloadStep(
            kind: kind,
            forMilliseconds: forMilliseconds ?? defaultForMilliseconds,
            everyMilliseconds: everyMilliseconds,
            count: count,
            startMilliseconds: startMilliseconds ?? 0
        )
        return (step, [])
    }

    private static func readKind(_ value: JSONValue?, _ errors: inout [ElementError]) -> WorkloadKind? {
        let reason: String
        switch value {
        case .string(let name):
            if let kind = WorkloadKind(rawValue: name) { return kind }
            reason = "unknown kind \"\(name)\""
        case .some(let other): reason = "\(other.displayText) is not a kind"
        case nil: reason = "missing"
        }
        let allowed = WorkloadKind.allCases.map(\.rawValue).joined(separator: ", ")
        errors.append(ElementError(member: "kind", reason: reason, allowed: allowed))
        return nil
    }
}
