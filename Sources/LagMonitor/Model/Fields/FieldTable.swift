/// The fields of schema `lagmonitor.stall.v1`, each declared once.
///
/// To add one: a case of ``StallField``, an entry in the group below that it belongs to, a stored property of the record, and the
/// place that fills it. An entry says which field it is, its name in the line, what it holds and where that is (``FieldAccess``),
/// which rules differ from the usual ones, and in one sentence what it means.
package enum FieldTable {
    /// In the order of ``StallField``, which is that of a stall's line.
    package static let all: [FieldDefinition] =
        head + times + process + surroundings + loop + running + cause + evidence + stack + counters + notices

    /// What a stall's line may have, in its order.
    package static let stall: [FieldDefinition] = all.filter { $0.access.ofStall != nil || $0.access.ofContext != nil }

    /// What a line of that event may have, in its order.
    package static func fields(of event: LineEvent) -> [FieldDefinition] {
        switch event {
        case .stall: stall
        case .dropped: dropped
        case .suppressed: suppressed
        case .recurring: recurring
        }
    }

    private static let clockAndProcess: [StallField] = [
        .mono, .bootID, .pid, .processName, .hostName, .serviceName, .serviceVersion, .podNamespace, .podName, .podContainer,
        .podNode,
        .containerID, .labels,
    ]
    private static let dropped =
        ([.schema, .time, .event, .dropped, .reason] + clockAndProcess + [.droppedTotal]).map(\.definition)
    private static let suppressed =
        ([
            .schema, .time, .event, .severity, .message, .fingerprint, .fingerprints, .suppressed, .firstTime, .lastTime,
            .longest,
            .total, .culprit,
        ] + clockAndProcess + [.suppressedTotal]).map(\.definition)
    private static let recurring =
        ([
            .schema, .time, .event, .severity, .message, .fingerprint, .count, .window, .firstTime, .lastTime, .total, .seenTotal,
            .culprit,
        ] + clockAndProcess).map(\.definition)
}
