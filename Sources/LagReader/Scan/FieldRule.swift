/// What a field may hold, and which lines must have it: the schema's table, for the scanner (names) and for `check` (the rest).
package struct FieldRule: Sendable {
    package let field: StallField
    package var name: String { "\(staticName)" }
    let staticName: StaticString
    package let content: Content
    package let required: Events

    /// `event` of a line.
    package struct Events: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let stall = Events(rawValue: 1)
        package static let dropped = Events(rawValue: 2)
        package static let suppressed = Events(rawValue: 4)
        package static let recurring = Events(rawValue: 8)
        package static let all: Events = [.stall, .dropped, .suppressed, .recurring]
        package static let none: Events = []

        package static let names: [(name: String, event: Events)] = [
            ("stall", .stall), ("dropped", .dropped), ("suppressed", .suppressed), ("recurring", .recurring),
        ]
    }

    package enum Content: Sendable {
        case oneOf([String])
        case text
        /// RFC 3339 in UTC with nine fractional digits.
        case time
        /// A UUID of version 7.
        case stallID
        /// `v1:` and sixteen hex digits.
        case fingerprint
        /// So many lower-case hex digits.
        case hexDigits(Int)
        /// `0x` and up to sixteen hex digits.
        case address
        /// Not negative, with a fraction.
        case decimal
        /// From 0 to 1.
        case share
        /// Whole, not negative, at most 2^64 − 1.
        case count
        case integer
        case flag
        case kinds
        case texts
        case frames
        case thread
        case threads
        case threadIDs
        case workers
        case sampleTree
    }

    private init(_ field: StallField, _ name: StaticString, _ content: Content, _ required: Events) {
        self.field = field
        staticName = name
        self.content = content
        self.required = required
    }

    package static let schemaName = "lagmonitor.stall.v1"
    package static let kinds = ["callout", "starvation", "ping", "frame", "sample"]

    /// In the order of ``StallField``.
    package static let all: [FieldRule] = [
        FieldRule(.schema, "schema", .oneOf([schemaName]), .all),
        FieldRule(.time, "time", .time, .all),
        FieldRule(.id, "id", .stallID, .stall),
        FieldRule(.event, "event", .oneOf(Events.names.map(\.name)), .all),
        FieldRule(.phase, "phase", .oneOf(["begin", "end", "abandoned"]), .stall),
        FieldRule(.severity, "severity", .oneOf(["warning", "error", "critical"]), [.stall, .suppressed, .recurring]),
        FieldRule(.message, "message", .text, [.stall, .suppressed, .recurring]),
        FieldRule(.kind, "kind", .oneOf(kinds), .stall),
        FieldRule(.foundBy, "found_by", .kinds, .none),
        FieldRule(.fingerprint, "fingerprint", .fingerprint, [.stall, .recurring]),
        FieldRule(.stackHash, "stack_hash", .hexDigits(16), .stall),
        FieldRule(.duration, "duration_ms", .decimal, .stall),
        FieldRule(.durationMinimum, "duration_min_ms", .decimal, .none),
        FieldRule(.durationMaximum, "duration_max_ms", .decimal, .none),
        FieldRule(.excluded, "excluded_ms", .decimal, .none),
        FieldRule(.threshold, "threshold_ms", .decimal, .stall),
        FieldRule(.mono, "mono_us", .count, .all),
        FieldRule(.bootID, "boot_id", .hexDigits(32), .all),
        FieldRule(.pid, "pid", .integer, .all),
        FieldRule(.threadID, "thread_id", .integer, .stall),
        FieldRule(.threadName, "thread_name", .text, .stall),
        FieldRule(.processName, "process_name", .text, .all),
        FieldRule(.hostName, "host_name", .text, .all),
        FieldRule(.serviceName, "service_name", .text, .none),
        FieldRule(.serviceVersion, "service_version", .text, .none),
        FieldRule(.loop, "loop", .text, .stall),
        FieldRule(.activity, "activity", .text, .none),
        FieldRule(.mode, "mode", .text, .none),
        FieldRule(
            .cause,
            "cause",
            .oneOf(["cpu", "syscall", "lock", "deadlock", "runqueue", "page_fault", "unknown"]),
            .stall
        ),
        FieldRule(.cpu, "cpu_ms", .decimal, .none),
        FieldRule(.runDelay, "run_delay_ms", .decimal, .none),
        FieldRule(.blocked, "blocked_ms", .decimal, .none),
        FieldRule(.system, "system_ms", .decimal, .none),
        FieldRule(.minorFaults, "minor_faults", .count, .none),
        FieldRule(.majorFaults, "major_faults", .count, .none),
        FieldRule(.syscall, "syscall", .text, .none),
        FieldRule(.syscallDescriptor, "syscall_fd", .integer, .none),
        FieldRule(.syscallTarget, "syscall_target", .text, .none),
        FieldRule(.wchan, "wchan", .text, .none),
        // Kinds may be added: any word is one.
        FieldRule(.lockKind, "lock_kind", .text, .none),
        FieldRule(.lockAddress, "lock_address", .address, .none),
        FieldRule(.lockOwner, "lock_owner", .thread, .none),
        FieldRule(.lockCycle, "lock_cycle", .threads, .none),
        FieldRule(.lockChain, "lock_chain", .threads, .none),
        FieldRule(.capture, "capture", .oneOf(["passive", "signal", "ptrace", "none"]), .stall),
        FieldRule(.captureError, "capture_error", .text, .none),
        FieldRule(.framePointerRecovered, "frame_pointer_recovered", .flag, .none),
        FieldRule(.unwindEnd, "unwind_end", .text, .none),
        FieldRule(.samples, "samples", .count, .stall),
        FieldRule(.samplesMatched, "samples_matched", .count, .stall),
        FieldRule(.samplesShare, "samples_share", .share, .none),
        FieldRule(.workersTotal, "workers_total", .count, .none),
        FieldRule(.workers, "workers", .workers, .none),
        FieldRule(.culprit, "culprit", .text, .none),
        FieldRule(.culpritConfidence, "culprit_confidence", .share, .none),
        FieldRule(.sequence, "seq", .count, .stall),
        FieldRule(.droppedTotal, "dropped_total", .count, [.stall, .dropped]),
        FieldRule(.suppressedTotal, "suppressed_total", .count, [.stall, .suppressed]),
        FieldRule(.framesTotal, "frames_total", .count, .stall),
        FieldRule(.frames, "frames", .frames, .stall),
        FieldRule(.sampleTree, "sample_tree", .sampleTree, .none),
        FieldRule(.dropped, "dropped", .count, .dropped),
        FieldRule(.reason, "reason", .text, .dropped),
        FieldRule(.fingerprints, "fingerprints", .count, .none),
        FieldRule(.suppressed, "suppressed", .count, .suppressed),
        FieldRule(.firstTime, "first_time", .time, [.suppressed, .recurring]),
        FieldRule(.lastTime, "last_time", .time, [.suppressed, .recurring]),
        FieldRule(.longest, "longest_ms", .decimal, .suppressed),
        FieldRule(.total, "total_ms", .decimal, [.suppressed, .recurring]),
        FieldRule(.count, "count", .count, .recurring),
        FieldRule(.window, "window_s", .decimal, .recurring),
        FieldRule(.seenTotal, "seen_total", .count, .recurring),
    ]
}
