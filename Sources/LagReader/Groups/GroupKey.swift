internal import LagModel

/// What makes stalls belong together.
package enum GroupKey: String, CaseIterable, Sendable {
    case fingerprint, culprit, cause, loop, process, service, target, host, incident

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
        }
    }
}
