internal import LagModel

/// What makes stalls belong together.
package enum GroupKey: String, CaseIterable, Sendable {
    case fingerprint, culprit, cause, loop, host, incident

    var field: StallField {
        switch self {
        case .fingerprint: .fingerprint
        case .culprit: .culprit
        case .cause: .cause
        case .loop: .loop
        case .host: .hostName
        case .incident: .incident
        }
    }
}
