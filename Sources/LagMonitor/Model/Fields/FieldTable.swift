/// The fields of schema `lagmonitor.stall.v1`, each declared once.
///
/// To add one: a case of ``StallField`` at its place in the line, a stored property of the record and its entry, which are in one
/// file, and the code that fills it. (If the line's content is not that of one property, the entry is in
/// FieldTable+Computed.swift.) An entry gives the field, its name in the line, its content and the content's place
/// (``FieldAccess``), deviations from the usual rules, and its meaning in one sentence.
package enum FieldTable {
    /// In the order of ``StallField``, which is that of a line.
    package static let all: [FieldDefinition] =
        (StallRecord.fields + StallRecord.Evidence.fields + kind + notices + process + surroundings + computed)
        .sorted { $0.field.rawValue < $1.field.rawValue }

    /// The possible fields of a stall's line, in order.
    package static let stall: [FieldDefinition] = all.filter { $0.access.ofStall != nil || $0.access.ofContext != nil }

    /// The possible fields of a notice's line, in order.
    package static let notice: [FieldDefinition] = all.filter { $0.access.ofNotice != nil || $0.access.ofContext != nil }
}
