internal import LagModel

/// The criterion for grouping stalls, by its name on the command line: `fingerprint`, `label:team`.
package enum GroupKey: RawRepresentable, Hashable, CaseIterable, Sendable {
    case fingerprint, culprit, cause, loop, process, service, target, host, incident, request
    /// The value of the operator's label of that name.
    case label(String)

    /// Without labels, because the operator chooses their names.
    package static let allCases: [GroupKey] = [
        .fingerprint, .culprit, .cause, .loop, .process, .service, .target, .host, .incident, .request,
    ]

    private static let labelPrefix = "label:"

    package init?(rawValue: String) {
        if let key = Self.allCases.first(where: { $0.rawValue == rawValue }) {
            self = key
        } else if rawValue.hasPrefix(Self.labelPrefix), RecordLabels.isName(rawValue.dropFirst(Self.labelPrefix.count).utf8) {
            self = .label(String(rawValue.dropFirst(Self.labelPrefix.count)))
        } else {
            return nil
        }
    }

    package var rawValue: String {
        switch self {
        case .fingerprint: "fingerprint"
        case .culprit: "culprit"
        case .cause: "cause"
        case .loop: "loop"
        case .process: "process"
        case .service: "service"
        case .target: "target"
        case .host: "host"
        case .incident: "incident"
        case .request: "request"
        case .label(let name): Self.labelPrefix + name
        }
    }

    var field: StallField {
        switch self {
        case .fingerprint: .fingerprint
        case .culprit: .culprit
        case .cause: .cause
        case .loop: .loop
        case .process: .processName
        // A target's name is the service in its records.
        case .service, .target: .serviceName
        case .host: .hostName
        case .incident: .incident
        case .request: .request
        case .label: .labels
        }
    }
}
