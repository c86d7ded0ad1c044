/// The fields of schema `lagmonitor.stall.v1`, each declared once.
///
/// To add one: a case of ``StallField``, an entry in its group below, a stored property of the record, and the code that fills
/// it. An entry gives the field, its name in the line, its content and the content's place (``FieldAccess``), deviations from the
/// usual rules, and its meaning in one sentence.
package enum FieldTable {
    /// In the order of ``StallField``, which is that of a stall's line.
    package static let all: [FieldDefinition] =
        head + times + process + surroundings + loop + running + cause + evidence + stack + counters + notices

    /// The possible fields of a stall's line, in order.
    package static let stall: [FieldDefinition] = all.filter { $0.access.ofStall != nil || $0.access.ofContext != nil }

    /// The possible fields of that event's line, in order.
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
