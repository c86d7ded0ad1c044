// The kind of a line, and its producer.
extension FieldTable {
    static let head: [FieldDefinition] = [
        .field(.schema, "schema", .constant(.schema, StallRecord.schema), required: .all, cap: .fixed, keep: .always, in: [])
            .means("Name and version of this schema."),
        .field(.time, "time", .time(\.startRealtimeNanoseconds), required: .all, keep: .always, in: [])
            .andNotice { .time($0.time.realtimeNanoseconds) }
            .means("When the stall began; for other events: when the line was created."),
        .field(.id, "id", .id(\.id), required: .stall, keep: .always)
            .means("The stall's id: a UUID of version 7, derived from its start. The lines of one stall share it."),
        .field(.event, "event", .stall(.event) { _ in .text("stall") }, required: .all, keep: .always, in: .metadata)
            .andNotice { .text($0.event.rawValue) }
            .means(
                """
                stall: a stall. dropped: lines were lost. suppressed: lines were held back by a limit. recurring: a stall \
                recurs. Events that are not named here have the members that every line has.
                """
            ),
        .field(.phase, "phase", .oneOf(\.phase), required: .stall, keep: .always)
            .means("begin: it is in progress. end: it is over. abandoned: the process died or stopped during it."),
        .field(.severity, "severity", .oneOf(\.severity), required: .aboutStalls, keep: .always, in: .metadata)
            .andNotice { $0.loss == nil ? .text(StallRecord.Severity.warning.rawValue) : nil }
            .means("A severity of syslog (RFC 5424)."),
        .field(.message, "message", .text(\.message), required: .aboutStalls, cap: .message, keep: .always, in: [])
            .andNotice { $0.loss == nil ? .text($0.message) : nil }
            .means("One human-readable line."),
        .field(.kind, "kind", .oneOf(\.kind), required: .stall, keep: .essential)
            .means("The rule that found it; of several, the one whose times the record has."),
        .field(.foundBy, "found_by", .kinds(\.foundBy))
            .means("Every rule that found it."),
        .field(.fingerprint, "fingerprint", fingerprint, required: [.stall, .recurring], cap: .hash, keep: .always)
            .means("Groups stalls by what was called: the same for one cause on all hosts and in all builds."),
        .field(.stackHash, "stack_hash", .text(\.stackHash, as: .stackHash), required: .stall, cap: .hash)
            .means("Hash of the exact stack, by build-id and offset."),
    ]

    static let times: [FieldDefinition] = [
        .field(.duration, "duration_ms", .milliseconds(\.durationNanoseconds), required: .stall, keep: .always)
            .means("begin: so far. end: in all. abandoned: at least."),
        .field(.durationMinimum, "duration_min_ms", leastDuration)
            .means("If the duration is not known exactly: its lower bound."),
        .field(.durationMaximum, "duration_max_ms", mostDuration)
            .means("If the duration is not known exactly: its upper bound."),
        .field(.excluded, "excluded_ms", .milliseconds(\.excludedNanoseconds))
            .means("Time between start and end in which the process could not run; not in duration_ms."),
        .field(.threshold, "threshold_ms", .milliseconds(\.thresholdNanoseconds), required: .stall, keep: .essential)
            .means("The duration from which this counts as a stall."),
        .field(.mono, "mono_us", monotonicStart, required: .all, in: .fields)
            .andNotice { .count($0.time.monotonicNanoseconds / 1000) }
            .means("CLOCK_MONOTONIC at the line's time, in microseconds."),
    ]

    static let process: [FieldDefinition] = [
        .field(.bootID, "boot_id", .context(text: \.bootID, as: .bootID), required: .all, cap: .fixed, in: .fields)
            .means("The kernel's boot id; mono_us values compare only within one boot. Zeros: not known."),
        .field(.pid, "pid", .context(.taskID) { .int32($0.pid) }, required: .all, keep: .always, in: [])
            .means("The process."),
        .field(.threadID, "thread_id", .taskID(\.threadID), required: .stall, keep: .always, in: .metadata)
            .means("The kernel's id of the stalled thread."),
        .field(.threadName, "thread_name", .text(\.threadName), required: .stall, cap: .name, keep: .always, in: .metadata)
            .means("The stalled thread's name."),
        .field(.processName, "process_name", .context(text: \.processName), required: .all, cap: .name, keep: .always, in: [])
            .means("The base name of the executable file."),
        .field(.hostName, "host_name", .context(text: \.hostName), required: .all, cap: .host, keep: .always, in: [])
            .means("The machine's name."),
        .field(.serviceName, "service_name", .context(text: \.serviceName), cap: .name, in: [])
            .means("OpenTelemetry's service.name."),
        .field(.serviceVersion, "service_version", .context(text: \.serviceVersion), in: [])
            .means("OpenTelemetry's service.version."),
    ]

    private static let fingerprint = FieldAccess.text(\.fingerprint, as: .fingerprint).andNotice {
        $0.fingerprint.map(FieldValue.text)
    }

    // The bounds of the duration are read back in the order of the table: the upper one needs the lower one.

    private static let leastDuration = FieldAccess.stall(
        .milliseconds,
        { $0.durationBounds.map { .milliseconds($0.lowerBound) } },
        store: { record, value in
            guard case .milliseconds(let least) = value else { return false }
            record.durationBounds = least...least
            return true
        }
    )

    private static let mostDuration = FieldAccess.stall(
        .milliseconds,
        { $0.durationBounds.map { .milliseconds($0.upperBound) } },
        store: { record, value in
            guard case .milliseconds(let most) = value, let least = record.durationBounds?.lowerBound else { return false }
            record.durationBounds = least <= most ? least...most : nil
            return true
        }
    )

    /// Microseconds in the line.
    private static let monotonicStart = FieldAccess.stall(
        .count,
        { .count($0.startMonotonicNanoseconds / 1000) },
        store: { record, value in
            guard case .count(let microseconds) = value else { return false }
            record.startMonotonicNanoseconds = microseconds.saturatingProduct(1000)
            return true
        }
    )
}
