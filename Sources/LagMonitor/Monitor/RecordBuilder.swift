internal import CLibunwind
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagDetection
internal import LagDiagnosis
internal import LagReport

/// Makes a record of an episode: names the modules and functions, says what it looks like, gives it its fingerprint.
///
/// Reporter thread only; may block and allocate.
struct RecordBuilder {
    private let modules: ModuleMap
    private var symbolizer = Symbolizer()
    // A process has some dozens of modules; their number is bounded by the map.
    private var moduleInfos: [Int: ModuleInfo] = [:]

    init(modules: ModuleMap) { self.modules = modules }

    mutating func build(_ episode: Episode, _ watch: WatchRegistry.Registration, _ configuration: LagMonitorConfiguration)
        -> StallRecord
    {
        let facts = episode.facts
        let outcome = facts.outcome
        let frames = frames(of: episode, configuration)
        let print = Fingerprint(
            frames: frames.map {
                Fingerprint.Frame(
                    modulePath: $0.module,
                    buildID: $0.buildID,
                    offset: $0.offset,
                    symbol: $0.symbol,
                    inApp: $0.inApp ?? false
                )
            }
        )
        let thread = watch.loop.thread
        var record = StallRecord(
            id: StallID(
                startRealtimeNanoseconds: facts.identityRealtimeNanoseconds,
                randomHigh: facts.random.0,
                randomLow: facts.random.1
            ),
            startRealtimeNanoseconds: facts.startRealtimeNanoseconds,
            startMonotonicNanoseconds: facts.extent.since,
            durationNanoseconds: facts.extent.length,
            thresholdNanoseconds: facts.thresholdNanoseconds,
            phase: Self.phase(facts.phase),
            kind: Self.kind(facts.kind),
            foundBy: facts.kinds.kinds.map(Self.kind),
            loop: watch.name,
            threadID: thread.tid,
            threadName: Self.threadName(thread.tid)
        )
        record.severity = severity(of: record, hang: UInt64(configuration.hangAfter.wholeNanoseconds))
        record.fingerprint = print.text
        record.stackHash = print.stackHash
        if facts.extent.lengthAtLeast < facts.extent.lengthAtMost {
            record.durationBounds = facts.extent.lengthAtLeast...facts.extent.lengthAtMost
        }
        if facts.extent.excluded > 0 { record.excludedNanoseconds = facts.extent.excluded }
        // Nobody saw what a loop was doing that had moved on before it was looked at.
        if facts.activity != .notRunning { record.activity = facts.activity.name }
        record.mode = watch.loop.modeName(facts.mode)
        record.cause = Self.cause(of: facts)
        record.evidence.cpuNanoseconds = facts.times?.cpuNanoseconds
        record.evidence.runDelayNanoseconds = facts.times?.runDelayNanoseconds
        record.capture = capture(of: outcome)
        record.captureError = outcome.failure?.rawValue
        record.samples = outcome.method == .none ? 0 : 1
        record.samplesMatched = record.samples
        record.frames = frames
        record.framesTotal = outcome.total
        record.message = Self.message(of: record, leaf: frames.first { $0.inApp == true } ?? frames.first)
        return record
    }

    private mutating func frames(of episode: Episode, _ configuration: LagMonitorConfiguration) -> [StallRecord.Frame] {
        guard episode.facts.outcome.method != .none else { return [] }
        let rules = InAppRules(inAppPrefixes: configuration.inAppPrefixes)
        let captured = (0..<min(episode.facts.outcome.stored, configuration.maxFrames)).map { episode.frames[$0] }
        let found = captured.map { $0.module.flatMap { info(of: $0) } }
        let queries = zip(captured, found).compactMap { frame, module in
            module.map {
                SymbolQuery(
                    modulePath: $0.path,
                    buildID: $0.buildID,
                    offset: frame.pc &- $0.bias,
                    isReturnAddress: frame.isReturnAddress
                )
            }
        }
        var symbols = symbolizer.resolve(queries)[...]
        return zip(captured, found).map { captured, module in
            guard let module else { return StallRecord.Frame(pc: captured.pc) }
            let symbol = symbols.removeFirst()
            return StallRecord.Frame(
                pc: captured.pc,
                module: module.baseName,
                buildID: module.buildID.isEmpty ? nil : module.buildID,
                offset: captured.pc &- module.bias,
                symbol: symbol?.simplified,
                symbolOffset: symbol?.symbolOffset,
                inApp: rules.isInApp(modulePath: module.path, symbol: symbol?.simplified)
            )
        }
    }

    private mutating func info(of index: Int) -> ModuleInfo? {
        if let known = moduleInfos[index] { return known }
        let info = modules.module(at: index)
        moduleInfos[index] = info
        return info
    }

    private static func phase(_ phase: Episode.Phase) -> StallRecord.Phase {
        switch phase {
        case .begin: .begin
        case .end: .end
        case .abandoned: .abandoned
        }
    }

    private static func kind(_ kind: StallKind) -> StallRecord.Kind {
        switch kind {
        case .callout: .callout
        case .starvation: .starvation
        case .ping: .ping
        case .frame: .frame
        case .sample: .sample
        }
    }

    private func capture(of outcome: CaptureOutcome) -> StallRecord.Capture {
        switch outcome.method {
        case .passive: .passive
        case .signal: .signal
        case .none: .none
        }
    }

    private func severity(of record: StallRecord, hang: UInt64) -> StallRecord.Severity {
        if record.phase == .abandoned { return .critical }
        return record.durationNanoseconds >= max(hang, record.thresholdNanoseconds * 4) ? .error : .warning
    }

    /// A thread that waited for a processor most of the time stalled for that; otherwise see
    /// ``cause(of:)-(CaptureOutcome)``.
    private static func cause(of facts: Episode.Facts) -> StallRecord.Cause {
        if let times = facts.times, times.runDelayNanoseconds > facts.extent.length / 2 { return .runqueue }
        return cause(of: facts.outcome)
    }

    /// What one look at the threshold tells: a thread that had to be asked by a signal was running; one that could be
    /// read passively was waiting, on a futex or in another system call, or (outside of any) for a page.
    static func cause(of outcome: CaptureOutcome) -> StallRecord.Cause {
        switch outcome.method {
        case .none: .unknown
        case .signal: .cpu
        case .passive:
            switch outcome.systemCall {
            case nil: .pageFault
            case clu_syscall_futex?: .lock
            default: .syscall
            }
        }
    }

    private static func message(of record: StallRecord, leaf: StallRecord.Frame?) -> String {
        let milliseconds = (record.durationNanoseconds + 500_000) / 1_000_000
        let place = leaf.flatMap { $0.symbol ?? $0.module }.map { " in \($0)" } ?? ""
        return switch record.phase {
        case .begin: "\(record.loop) has been stalled for \(milliseconds) ms\(place)"
        case .end: "\(record.loop) was stalled for \(milliseconds) ms\(place)"
        case .abandoned: "\(record.loop) was stalled for \(milliseconds) ms\(place) when the watch ended"
        }
    }

    private static func threadName(_ tid: Int32) -> String {
        guard tid > 0 else { return "" }
        var buffer = [CChar](repeating: 0, count: 64)
        let length = clu_procfs_read(getpid(), tid, "comm", &buffer, buffer.count)
        guard length > 1 else { return "" }
        return String(decoding: buffer[..<(length - 1)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
