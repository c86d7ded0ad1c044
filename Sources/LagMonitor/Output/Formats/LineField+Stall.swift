extension LineField {
    /// A stall's native fields, but for those that every format has a place for: time, message, severity, who the process and
    /// the thread are, and the frames.
    static func all(of record: StallRecord, _ caps: StringCaps, _ context: ProcessContext) -> [LineField] {
        var fields = FieldList(caps: caps)
        fields.add("id", .id(record.id))
        fields.add("phase", .text(record.phase.rawValue, maxBytes: caps.word))
        fields.add("kind", .text(record.kind.rawValue, maxBytes: caps.word), from: .essential)
        if !record.foundBy.isEmpty {
            fields.add("found_by", .texts(record.foundBy.map(\.rawValue), maxBytes: caps.word), from: .all)
        }
        fields.add("fingerprint", .text(record.fingerprint, maxBytes: caps.hash))
        fields.add("stack_hash", .text(record.stackHash, maxBytes: caps.hash), from: .all)
        fields.add(milliseconds: "duration_ms", record.durationNanoseconds)
        fields.add(milliseconds: "duration_min_ms", record.durationBounds?.lowerBound, from: .all)
        fields.add(milliseconds: "duration_max_ms", record.durationBounds?.upperBound, from: .all)
        fields.add(milliseconds: "excluded_ms", record.excludedNanoseconds, from: .all)
        fields.add(milliseconds: "threshold_ms", record.thresholdNanoseconds, from: .essential)
        if caps.keepsOptional { fields.list += clock(context, record.startMonotonicNanoseconds) }
        fields.add("loop", .text(record.loop, maxBytes: caps.name), from: .essential)
        fields.add("activity", record.activity.map { .text($0, maxBytes: caps.word) }, from: .all)
        fields.add("mode", record.mode.map { .text($0, maxBytes: caps.word) }, from: .all)
        fields.add("cause", .text(record.cause.rawValue, maxBytes: caps.word))
        fields.add(record.evidence)
        fields.add("capture", .text(record.capture.rawValue, maxBytes: caps.word), from: .essential)
        fields.add("capture_error", record.captureError.map { .text($0, maxBytes: caps.reason) }, from: .all)
        if record.framePointerRecovered { fields.add("frame_pointer_recovered", .flag(true), from: .all) }
        fields.add("unwind_end", record.unwindEnd.map { .text($0, maxBytes: caps.word) }, from: .all)
        fields.add("samples", .count(record.samples), from: .essential)
        fields.add("samples_matched", .count(record.samplesMatched), from: .essential)
        fields.add(share: "samples_share", record.samplesShare, from: .all)
        if !record.workers.isEmpty { fields.add("workers_total", .count(record.workersTotal), from: .all) }
        fields.add("culprit", record.culprit.map { .text($0, maxBytes: caps.symbol) }, from: .essential)
        fields.add(share: "culprit_confidence", record.culpritConfidence, from: .essential)
        fields.add("seq", .count(record.sequence), from: .essential)
        fields.add("dropped_total", .count(record.droppedTotal), from: .essential)
        fields.add("suppressed_total", .count(record.suppressedTotal), from: .essential)
        fields.add("frames_total", .count(UInt64(record.wholeDepth)))
        return fields.list
    }

    /// When it was on the clock that does not step, and which boot that clock belongs to.
    static func clock(_ context: ProcessContext, _ monotonicNanoseconds: UInt64) -> [LineField] {
        [
            LineField("mono_us", .count(monotonicNanoseconds / 1000)),
            LineField("boot_id", .text(context.bootID, maxBytes: StringCaps.bootID)),
        ]
    }
}

/// Fields, as far as there is room for them.
private struct FieldList {
    let caps: StringCaps
    var list: [LineField] = []

    init(caps: StringCaps) { self.caps = caps }

    mutating func add(_ name: StaticString, _ value: LineField.Value?, from priority: StringCaps.FieldPriority = .none) {
        guard let value, caps.fieldPriority >= priority else { return }
        list.append(LineField(name, value))
    }

    mutating func add(milliseconds name: StaticString, _ nanoseconds: UInt64?, from priority: StringCaps.FieldPriority = .none) {
        add(name, nanoseconds.map { .thousandths($0 / 1000) }, from: priority)
    }

    mutating func add(share name: StaticString, _ share: Double?, from priority: StringCaps.FieldPriority) {
        guard let share, !share.isNaN else { return }
        add(name, .thousandths(UInt64((min(1, max(0, share)) * 1000).rounded())), from: priority)
    }

    /// The locks' owners are left out here: each format has its own way with threads.
    mutating func add(_ evidence: StallRecord.Evidence) {
        add(milliseconds: "cpu_ms", evidence.cpuNanoseconds, from: .essential)
        add(milliseconds: "run_delay_ms", evidence.runDelayNanoseconds, from: .essential)
        add(milliseconds: "blocked_ms", evidence.blockedNanoseconds, from: .essential)
        add(milliseconds: "system_ms", evidence.systemNanoseconds, from: .all)
        add("minor_faults", evidence.minorFaults.map { .count($0) }, from: .all)
        add("major_faults", evidence.majorFaults.map { .count($0) }, from: .all)
        add("syscall", evidence.syscall.map { .text($0, maxBytes: caps.name) }, from: .essential)
        add("syscall_fd", evidence.syscallDescriptor.map { .number(Int64($0)) }, from: .all)
        add("syscall_target", evidence.syscallTarget.map { .path($0, maxBytes: caps.host) }, from: .essential)
        add("wchan", evidence.wchan.map { .text($0, maxBytes: caps.word) }, from: .all)
        add("lock_kind", evidence.lockKind.map { .text($0.rawValue, maxBytes: caps.word) }, from: .essential)
        add("lock_address", evidence.lockAddress.map { .hex($0) }, from: .essential)
    }
}

extension StallRecord {
    /// `workers_total`.
    var workersTotal: UInt64 { UInt64(workers.reduce(0) { $0 + $1.threadIDs.count }) }

    /// `frames_total`. Inlined frames have no place on the stack.
    var wholeDepth: Int { max(framesTotal, frames.count { $0.inlined != true }) }
}
