/// How long each free string may be, in bytes between its quotes, escapes counted.
struct StringCaps {
    let message: Int
    let name: Int
    let host: Int
    let hash: Int
    let word: Int
    let reason: Int
    let symbol: Int
    let fieldPriority: FieldPriority

    /// Which optional fields appear.
    enum FieldPriority: Comparable {
        case none
        /// Why, and who is to blame.
        case essential
        case all
    }

    var keepsOptional: Bool { fieldPriority == .all }

    /// Tried in this order until the line fits.
    static let fromWideToTight = [
        StringCaps(
            message: 512,
            name: 128,
            host: 255,
            hash: 64,
            word: 64,
            reason: 256,
            symbol: LineLimits.maximumSymbolBytes,
            fieldPriority: .all
        ),
        StringCaps(message: 128, name: 32, host: 64, hash: 32, word: 32, reason: 96, symbol: 96, fieldPriority: .all),
        StringCaps(message: 128, name: 20, host: 32, hash: 20, word: 16, reason: 0, symbol: 96, fieldPriority: .essential),
        StringCaps(message: 32, name: 20, host: 24, hash: 20, word: 16, reason: 0, symbol: 0, fieldPriority: .none),
    ]

    static let path = 512
    static let buildID = 64
    static let bootID = 32
}

extension JSONLineWriter {
    /// What ends the frames, and ``writeTail()``: `]}` and the newline.
    static var tailBytes: Int { 3 }

    /// Everything up to the first frame, in the order of the schema's table.
    /// - Parameter maxLineBytes: what is longer will not be used: frames of owners beyond that are left out.
    mutating func writeHead(
        of record: borrowing StallRecord,
        context: ProcessContext,
        caps: StringCaps,
        ownerFrames: Int,
        maxLineBytes: Int
    ) {
        beginObject()
        field("schema", StallRecord.schema)
        key("time")
        value { UTCTime.append(nanosecondsSince1970: record.startRealtimeNanoseconds, to: &$0) }
        key("id")
        value(record.id)
        field("event", "stall")
        field("phase", record.phase.rawValue, caps.word)
        field("severity", record.severity.rawValue, caps.word)
        field("message", record.message, caps.message)
        field("kind", record.kind.rawValue, caps.word)
        if caps.keepsOptional, !record.foundBy.isEmpty {
            key("found_by")
            beginArray()
            for kind in record.foundBy { value(kind.rawValue, maxBytes: caps.word) }
            endArray()
        }
        field("fingerprint", record.fingerprint, caps.hash)
        field("stack_hash", record.stackHash, caps.hash)
        milliseconds("duration_ms", record.durationNanoseconds)
        if caps.keepsOptional {
            if let bounds = record.durationBounds {
                milliseconds("duration_min_ms", bounds.lowerBound)
                milliseconds("duration_max_ms", bounds.upperBound)
            }
            if let excluded = record.excludedNanoseconds { milliseconds("excluded_ms", excluded) }
        }
        milliseconds("threshold_ms", record.thresholdNanoseconds)
        field("mono_us", record.startMonotonicNanoseconds / 1000)
        field("boot_id", context.bootID, StringCaps.bootID)
        key("pid")
        value(Int64(context.pid))
        key("thread_id")
        value(Int64(record.threadID))
        field("thread_name", record.threadName, caps.name)
        field("process_name", context.processName, caps.name)
        field("host_name", context.hostName, caps.host)
        if caps.keepsOptional {
            optional("service_name", context.serviceName, caps.name)
            optional("service_version", context.serviceVersion, caps.word)
        }
        field("loop", record.loop, caps.name)
        if caps.keepsOptional {
            optional("activity", record.activity, caps.word)
            optional("mode", record.mode, caps.word)
        }
        field("cause", record.cause.rawValue, caps.word)
        if caps.fieldPriority >= .essential {
            write(record.evidence, caps: caps, owners: OwnerLimits(frames: ownerFrames, maxLineBytes: maxLineBytes))
        }
        field("capture", record.capture.rawValue, caps.word)
        if caps.keepsOptional {
            optional("capture_error", record.captureError, caps.reason)
            if record.framePointerRecovered {
                key("frame_pointer_recovered")
                value(true)
            }
            optional("unwind_end", record.unwindEnd, caps.word)
        }
        field("samples", record.samples)
        field("samples_matched", record.samplesMatched)
        if caps.keepsOptional { share("samples_share", record.samplesShare) }
        if caps.keepsOptional, !record.workers.isEmpty {
            field("workers_total", record.workersTotal)
            write(record.workers, OwnerLimits(frames: ownerFrames, maxLineBytes: maxLineBytes))
        }
        if caps.fieldPriority >= .essential {
            optional("culprit", record.culprit, caps.symbol)
            share("culprit_confidence", record.culpritConfidence)
        }
        field("seq", record.sequence)
        field("dropped_total", record.droppedTotal)
        field("suppressed_total", record.suppressedTotal)
        field("frames_total", UInt64(record.wholeDepth))
        key("frames")
        beginArray()
    }

    /// The frames from the leaf on, as many as leave room for the tail. Returns how many.
    mutating func writeFrames(of record: borrowing StallRecord, withFunctions: Bool, maxLineBytes: Int) -> Int {
        for index in 0..<record.frames.count {
            let place = mark
            write(record.frames[index], withFunction: withFunctions)
            if count + Self.tailBytes > maxLineBytes {
                rollBack(to: place)
                return index
            }
        }
        return record.frames.count
    }

    mutating func writeTail() {
        endObject()
        endLine()
    }

    /// How much is written of threads that hold locks.
    private struct OwnerLimits {
        let frames: Int
        let maxLineBytes: Int
    }

    /// A part of a whole, 0…1.
    private mutating func share(_ name: StaticString, _ share: Double?) {
        guard let share, !share.isNaN else { return }
        key(name)
        value(thousandths: UInt64((min(1, max(0, share)) * 1000).rounded()))
    }

    private mutating func write(_ evidence: StallRecord.Evidence, caps: StringCaps, owners: OwnerLimits) {
        if let time = evidence.cpuNanoseconds { milliseconds("cpu_ms", time) }
        if let time = evidence.runDelayNanoseconds { milliseconds("run_delay_ms", time) }
        if let time = evidence.blockedNanoseconds { milliseconds("blocked_ms", time) }
        if caps.keepsOptional {
            if let time = evidence.systemNanoseconds { milliseconds("system_ms", time) }
            if let faults = evidence.minorFaults { field("minor_faults", faults) }
            if let faults = evidence.majorFaults { field("major_faults", faults) }
        }
        optional("syscall", evidence.syscall, caps.name)
        if caps.keepsOptional, let descriptor = evidence.syscallDescriptor {
            key("syscall_fd")
            value(Int64(descriptor))
        }
        if let target = evidence.syscallTarget {
            key("syscall_target")
            value(target, maxBytes: caps.host, keepingEnd: true)
        }
        if caps.keepsOptional { optional("wchan", evidence.wchan, caps.word) }
        optional("lock_kind", evidence.lockKind?.rawValue, caps.word)
        if let address = evidence.lockAddress {
            key("lock_address")
            value(hex: address)
        }
        if let owner = evidence.lockOwner {
            key("lock_owner")
            write(owner, caps: caps, owners)
        }
        guard caps.keepsOptional else { return }
        write("lock_cycle", evidence.lockCycle, caps: caps, owners)
        write("lock_chain", evidence.lockChain, caps: caps, owners)
    }

    private mutating func write(
        _ name: StaticString,
        _ threads: [StallRecord.LockOwner],
        caps: StringCaps,
        _ owners: OwnerLimits
    ) {
        guard !threads.isEmpty else { return }
        key(name)
        beginArray()
        for thread in threads { write(thread, caps: caps, owners) }
        endArray()
    }

    private mutating func write(_ owner: StallRecord.LockOwner, caps: StringCaps, _ owners: OwnerLimits) {
        beginObject()
        key("thread_id")
        value(Int64(owner.threadID))
        optional("thread_name", owner.threadName, caps.name)
        if let address = owner.waitsFor {
            key("waits_for")
            value(hex: address)
        }
        write(framesOf: owner.frames, owners)
        endObject()
    }

    private mutating func write(_ workers: [StallRecord.WorkerGroup], _ limits: OwnerLimits) {
        key("workers")
        beginArray()
        for group in workers where count <= limits.maxLineBytes {
            beginObject()
            key("thread_ids")
            beginArray()
            for tid in group.threadIDs { value(Int64(tid)) }
            endArray()
            write(framesOf: group.frames, limits)
            endObject()
        }
        endArray()
    }

    /// The first frames of another thread than the stalled one.
    private mutating func write(framesOf frames: [StallRecord.Frame], _ limits: OwnerLimits) {
        guard limits.frames > 0, !frames.isEmpty else { return }
        key("frames")
        beginArray()
        for frame in frames.prefix(limits.frames) where count <= limits.maxLineBytes { write(frame, withFunction: false) }
        endArray()
    }

    private mutating func write(_ frame: StallRecord.Frame, withFunction: Bool) {
        beginObject()
        key("pc")
        value(hex: frame.pc)
        if let module = frame.module {
            key("module")
            value(module, maxBytes: StringCaps.path, keepingEnd: true)
        }
        optional("build_id", frame.buildID, StringCaps.buildID)
        if let offset = frame.offset {
            key("offset")
            value(hex: offset)
        }
        optional("symbol", frame.symbol, LineLimits.maximumSymbolBytes)
        if withFunction { optional("function", frame.function, LineLimits.maximumSymbolBytes) }
        if let offset = frame.symbolOffset { field("symbol_offset", offset) }
        if let file = frame.file {
            key("file")
            value(file, maxBytes: StringCaps.path, keepingEnd: true)
        }
        if let line = frame.line {
            key("line")
            value(Int64(line))
        }
        if let inlined = frame.inlined {
            key("inlined")
            value(inlined)
        }
        if let inApp = frame.inApp {
            key("in_app")
            value(inApp)
        }
        endObject()
    }

    mutating func field(_ name: StaticString, _ text: StaticString) {
        key(name)
        value(text)
    }

    mutating func field(_ name: StaticString, _ text: String, _ maxBytes: Int) {
        key(name)
        value(text, maxBytes: maxBytes)
    }

    mutating func field(_ name: StaticString, _ number: UInt64) {
        key(name)
        value(number)
    }

    mutating func milliseconds(_ name: StaticString, _ nanoseconds: UInt64) {
        key(name)
        value(millisecondsOf: nanoseconds)
    }

    mutating func optional(_ name: StaticString, _ text: String?, _ maxBytes: Int) {
        if let text { field(name, text, maxBytes) }
    }
}
