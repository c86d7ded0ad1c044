// What a line is, and who made it.
extension FieldTable {
    static let head: [FieldDefinition] = [
        FieldDefinition(
            .schema,
            "schema",
            .schema,
            required: .all,
            cap: .fixed,
            keep: .always,
            in: [],
            value: .stall { _ in .text("\(StallRecord.schema)") }.andNotice { _ in .text("\(StallRecord.schema)") },
            "Name and version of this schema."
        ),
        FieldDefinition(
            .time,
            "time",
            .time,
            required: .all,
            keep: .always,
            in: [],
            value: .stored(\.startRealtimeNanoseconds, FieldValue.time) { if case .time(let time) = $0 { time } else { nil } }
                .andNotice { .time($0.time.realtimeNanoseconds) },
            "When the stall began; of other events, when the line was made."
        ),
        FieldDefinition(
            .id,
            "id",
            .stallID,
            required: .stall,
            keep: .always,
            value: .stored(\.id, FieldValue.id) { if case .id(let id) = $0 { id } else { nil } },
            "The stall's: a UUID of version 7, made of its start. The lines of one stall share it."
        ),
        FieldDefinition(
            .event,
            "event",
            .event,
            required: .all,
            keep: .always,
            in: .metadata,
            value: .stall { _ in .text("stall") }.andNotice { .text($0.event.rawValue) },
            """
            stall: a stall. dropped: lines were lost. suppressed: lines were held back by a limit. recurring: a stall comes again and \
            again. Events that are not named here have the members that every line has.
            """
        ),
        FieldDefinition(
            .phase,
            "phase",
            .oneOf(StallRecord.Phase.allCases.map(\.rawValue)),
            required: .stall,
            keep: .always,
            value: .word(\.phase),
            "begin: it goes on. end: it is over. abandoned: the process died or stopped in it."
        ),
        FieldDefinition(
            .severity,
            "severity",
            .oneOf(StallRecord.Severity.allCases.map(\.rawValue)),
            required: [.stall, .suppressed, .recurring],
            keep: .always,
            in: .metadata,
            value: .word(\.severity).andNotice { _ in .text(StallRecord.Severity.warning.rawValue) },
            "A severity of syslog (RFC 5424)."
        ),
        FieldDefinition(
            .message,
            "message",
            .text,
            required: [.stall, .suppressed, .recurring],
            cap: .message,
            keep: .always,
            in: [],
            value: .text(\.message).andNotice { .text($0.message) },
            "One line for people."
        ),
        FieldDefinition(
            .kind,
            "kind",
            .oneOf(kinds),
            required: .stall,
            keep: .essential,
            value: .word(\.kind),
            "Which rule found it; of several, the one whose times the record has."
        ),
        FieldDefinition(
            .foundBy,
            "found_by",
            .kinds,
            value: .stored(\.foundBy, { $0.isEmpty ? nil : .texts($0.map(\.rawValue)) }) {
                if case .texts(let texts) = $0 { texts.compactMap { StallRecord.Kind(rawValue: $0) } } else { nil }
            },
            "Every rule that found it."
        ),
        FieldDefinition(
            .fingerprint,
            "fingerprint",
            .fingerprint,
            required: [.stall, .recurring],
            cap: .hash,
            keep: .always,
            value: .text(\.fingerprint).andNotice { $0.fingerprint.map(FieldValue.text) },
            "Groups stalls by what was called: the same for one cause on all hosts and in all builds."
        ),
        FieldDefinition(
            .stackHash,
            "stack_hash",
            .stackHash,
            required: .stall,
            cap: .hash,
            value: .text(\.stackHash),
            "Of the exact stack, by build-id and offset."
        ),
    ]

    static let times: [FieldDefinition] = [
        FieldDefinition(
            .duration,
            "duration_ms",
            .milliseconds,
            required: .stall,
            keep: .always,
            value: .milliseconds(\.durationNanoseconds),
            "begin: so far. end: in all. abandoned: at least."
        ),
        FieldDefinition(
            .durationMinimum,
            "duration_min_ms",
            .milliseconds,
            value: .stall({ $0.durationBounds.map { .milliseconds($0.lowerBound) } }) { record, value in
                guard case .milliseconds(let least) = value else { return false }
                record.durationBounds = least...least
                return true
            },
            "Where the duration is not known exactly: at least."
        ),
        FieldDefinition(
            .durationMaximum,
            "duration_max_ms",
            .milliseconds,
            value: .stall({ $0.durationBounds.map { .milliseconds($0.upperBound) } }) { record, value in
                guard case .milliseconds(let most) = value, let least = record.durationBounds?.lowerBound else { return false }
                record.durationBounds = least <= most ? least...most : nil
                return true
            },
            "Where the duration is not known exactly: at most."
        ),
        FieldDefinition(
            .excluded,
            "excluded_ms",
            .milliseconds,
            value: .milliseconds(\.excludedNanoseconds),
            "Time between start and end in which the process could not run; not in duration_ms."
        ),
        FieldDefinition(
            .threshold,
            "threshold_ms",
            .milliseconds,
            required: .stall,
            keep: .essential,
            value: .milliseconds(\.thresholdNanoseconds),
            "From what duration on this counts as a stall."
        ),
        FieldDefinition(
            .mono,
            "mono_us",
            .count,
            required: .all,
            in: .fields,
            value: .stall({ .count($0.startMonotonicNanoseconds / 1000) }) { record, value in
                guard case .count(let microseconds) = value else { return false }
                record.startMonotonicNanoseconds = microseconds.saturatingProduct(1000)
                return true
            }.andNotice { .count($0.time.monotonicNanoseconds / 1000) },
            "CLOCK_MONOTONIC at the time of the line's time, in microseconds."
        ),
    ]

    static let process: [FieldDefinition] = [
        FieldDefinition(
            .bootID,
            "boot_id",
            .bootID,
            required: .all,
            cap: .fixed,
            in: .fields,
            value: .context { .text($0.bootID) },
            "The kernel's boot, within which mono_us compares; zeros: not known."
        ),
        FieldDefinition(
            .pid,
            "pid",
            .taskID,
            required: .all,
            keep: .always,
            in: [],
            value: .context { .integer(Int64($0.pid)) },
            "The process."
        ),
        FieldDefinition(
            .threadID,
            "thread_id",
            .taskID,
            required: .stall,
            keep: .always,
            in: .metadata,
            value: .int32(\.threadID),
            "The kernel's number of the stalled thread."
        ),
        FieldDefinition(
            .threadName,
            "thread_name",
            .text,
            required: .stall,
            cap: .name,
            keep: .always,
            in: .metadata,
            value: .text(\.threadName),
            "The stalled thread's name."
        ),
        FieldDefinition(
            .processName,
            "process_name",
            .text,
            required: .all,
            cap: .name,
            keep: .always,
            in: [],
            value: .context { .text($0.processName) },
            "The base name of the executable file."
        ),
        FieldDefinition(
            .hostName,
            "host_name",
            .text,
            required: .all,
            cap: .host,
            keep: .always,
            in: [],
            value: .context { .text($0.hostName) },
            "The machine's name."
        ),
        FieldDefinition(
            .serviceName,
            "service_name",
            .text,
            cap: .name,
            in: [],
            value: .context { $0.serviceName.map(FieldValue.text) },
            "OpenTelemetry's service.name."
        ),
        FieldDefinition(
            .serviceVersion,
            "service_version",
            .text,
            in: [],
            value: .context { $0.serviceVersion.map(FieldValue.text) },
            "OpenTelemetry's service.version."
        ),
    ]

    private static let kinds = StallRecord.Kind.allCases.map(\.rawValue)
}
