// What notices say that stalls do not.
extension FieldTable {
    static let notices: [FieldDefinition] = [
        FieldDefinition(
            .dropped,
            "dropped",
            .count,
            required: .dropped,
            keep: .always,
            in: .fields,
            value: .notice { $0.loss.map { .count($0.count) } },
            "dropped: how many lines were lost since the last such line."
        ),
        FieldDefinition(
            .reason,
            "reason",
            .word(Notice.DropReason.allCases.map(\.rawValue)),
            required: .dropped,
            keep: .always,
            in: .fields,
            value: .notice { $0.loss.map { .text($0.reason.rawValue) } },
            "dropped: where they were lost."
        ),
        FieldDefinition(
            .fingerprints,
            "fingerprints",
            .count,
            keep: .always,
            in: .fields,
            value: .notice { $0.suppression.flatMap { $0.fingerprint == nil ? .count($0.fingerprints) : nil } },
            "suppressed: in place of fingerprint, how many these were."
        ),
        FieldDefinition(
            .suppressed,
            "suppressed",
            .count,
            required: .suppressed,
            keep: .always,
            in: .fields,
            value: .notice { $0.suppression.map { .count($0.count) } },
            "suppressed: how many stalls were held back."
        ),
        FieldDefinition(
            .firstTime,
            "first_time",
            .time,
            required: [.suppressed, .recurring],
            keep: .essential,
            in: .fields,
            value: .notice {
                ($0.suppression?.firstRealtimeNanoseconds ?? $0.recurrence?.firstRealtimeNanoseconds).map(FieldValue.time)
            },
            "suppressed, recurring: when the first of these stalls began."
        ),
        FieldDefinition(
            .lastTime,
            "last_time",
            .time,
            required: [.suppressed, .recurring],
            keep: .essential,
            in: .fields,
            value: .notice {
                ($0.suppression?.lastRealtimeNanoseconds ?? $0.recurrence?.lastRealtimeNanoseconds).map(FieldValue.time)
            },
            "suppressed, recurring: when the last of these stalls began."
        ),
        FieldDefinition(
            .longest,
            "longest_ms",
            .milliseconds,
            required: .suppressed,
            keep: .essential,
            in: .fields,
            value: .notice { $0.suppression.map { .milliseconds($0.longestNanoseconds) } },
            "suppressed: the longest of these stalls."
        ),
        FieldDefinition(
            .total,
            "total_ms",
            .milliseconds,
            required: [.suppressed, .recurring],
            keep: .essential,
            in: .fields,
            value: .notice { ($0.suppression?.totalNanoseconds ?? $0.recurrence?.totalNanoseconds).map(FieldValue.milliseconds) },
            "suppressed, recurring: these stalls together."
        ),
        FieldDefinition(
            .count,
            "count",
            .count,
            required: .recurring,
            keep: .always,
            in: .fields,
            value: .notice { $0.recurrence.map { .count($0.count) } },
            "recurring: how many stalls."
        ),
        FieldDefinition(
            .window,
            "window_s",
            .seconds,
            required: .recurring,
            keep: .essential,
            in: .fields,
            value: .notice { $0.recurrence.map { .seconds($0.windowNanoseconds) } },
            "recurring: within how many seconds."
        ),
        FieldDefinition(
            .seenTotal,
            "seen_total",
            .count,
            required: .recurring,
            keep: .essential,
            in: .fields,
            value: .notice { $0.recurrence.map { .count($0.seenTotal) } },
            "recurring: stalls of this fingerprint so far in this process."
        ),
    ]
}
