// What kind of line it is, and the fields that only notices have.
extension FieldTable {
    static let kind: [FieldDefinition] = [
        .field(.schema, "schema", .constant(.schema, StallRecord.schema), required: .all, cap: .fixed, keep: .always, in: [])
            .means("Name and version of this schema."),
        .field(.event, "event", .stall(.event) { _ in .text("stall") }, required: .all, keep: .always, in: .metadata)
            .andNotice { .text($0.event.rawValue) }
            .means(
                """
                stall: a stall. dropped: lines were lost. suppressed: lines were held back by a limit. recurring: a stall \
                recurs. Events that are not named here have the members that every line has.
                """
            ),
    ]

    static let notices: [FieldDefinition] = [
        .field(.dropped, "dropped", .notice(count: \.loss?.count), required: .dropped, keep: .always, in: .fields)
            .means("dropped: how many lines were lost since the last such line."),
        .field(.reason, "reason", .notice(word: \.loss?.reason), required: .dropped, keep: .always, in: .fields)
            .means("dropped: where they were lost."),
        .field(.fingerprints, "fingerprints", .notice(count: \.unnamedFingerprints), keep: .always, in: .fields)
            .means("suppressed: instead of fingerprint, the number of fingerprints."),
        .field(.suppressed, "suppressed", .notice(count: \.suppression?.count), required: .suppressed, keep: .always, in: .fields)
            .means("suppressed: how many stalls were held back."),
        .field(.firstTime, "first_time", .notice(time: \.firstTime), required: .summaries, keep: .essential, in: .fields)
            .means("suppressed, recurring: when the first of these stalls began."),
        .field(.lastTime, "last_time", .notice(time: \.lastTime), required: .summaries, keep: .essential, in: .fields)
            .means("suppressed, recurring: when the last of these stalls began."),
        .field(.longest, "longest_ms", .notice(milliseconds: \.longest), required: .suppressed, keep: .essential, in: .fields)
            .means("suppressed: the longest of these stalls."),
        .field(.total, "total_ms", .notice(milliseconds: \.total), required: .summaries, keep: .essential, in: .fields)
            .means("suppressed, recurring: the total of these stalls."),
        .field(.count, "count", .notice(count: \.recurrence?.count), required: .recurring, keep: .always, in: .fields)
            .means("recurring: how many stalls."),
        .field(.window, "window_s", .notice(seconds: \.window), required: .recurring, keep: .essential, in: .fields)
            .means("recurring: within how many seconds."),
        .field(.seenTotal, "seen_total", .notice(count: \.seenTotal), required: .recurring, keep: .essential, in: .fields)
            .means("recurring: stalls of this fingerprint so far in this process."),
    ]
}

// The content of notices about one event, or about several; nil in other notices.
extension Notice {
    var droppedTotal: UInt64? { if case .dropped(_, _, let total) = content { total } else { nil } }
    var suppressedTotal: UInt64? { if case .suppressed(_, let total) = content { total } else { nil } }

    /// `fingerprints`: nil if the line contains its only fingerprint.
    fileprivate var unnamedFingerprints: UInt64? { suppression.flatMap { $0.fingerprint == nil ? $0.fingerprints : nil } }

    fileprivate var seenTotal: UInt64? { recurrence?.seenTotal }

    // Nanoseconds since 1970.
    fileprivate var firstTime: Int64? { suppression?.firstRealtimeNanoseconds ?? recurrence?.firstRealtimeNanoseconds }
    fileprivate var lastTime: Int64? { suppression?.lastRealtimeNanoseconds ?? recurrence?.lastRealtimeNanoseconds }

    // Nanoseconds.
    fileprivate var longest: UInt64? { suppression?.longestNanoseconds }
    fileprivate var total: UInt64? { suppression?.totalNanoseconds ?? recurrence?.totalNanoseconds }
    fileprivate var window: UInt64? { recurrence?.windowNanoseconds }
}
