internal import CLagLinux
internal import LagActivity
package import LagCapture
package import LagDetection
internal import LagDiagnosis
internal import LagModel
internal import LagOutput

/// Builds a record from an episode: names, cause, culprit, fingerprint.
///
/// Reporter thread only; may block and allocate.
package struct RecordBuilder {
    private var builder: FrameBuilder
    private var sockets: SocketNames
    private let process: Int32
    private let isOfOtherProcess: Bool
    private let throttling: ThrottleSource?
    private var program: ProgramFiles?
    /// The names as last read: the kernel has no name for a thread that has ended.
    private var threadNames: [Int32: String] = [:]
    private static let maximumThreadNames = 256

    /// - Parameters:
    ///   - throttling: the watchdog's quota readings; nil: none.
    ///   - languages: reads the frames of languages.
    package init(modules: ModuleMap, throttling: ThrottleSource? = nil, languages: (any LanguageFrameSource)? = nil) {
        self.throttling = throttling
        builder = FrameBuilder(modules: modules, languages: languages)
        process = modules.process
        isOfOtherProcess = languages != nil
        sockets = SocketNames(process: modules.process)
        // The main thread's name, in case a process is killed before its first stall.
        _ = threadName(process)
    }

    /// Cuts waits for lines short; any thread.
    var waitLimit: SharedDeadline? { builder.waitLimit }

    /// Stops what it has started.
    mutating func close() { builder.close() }

    /// A stalled thread waits for this socket.
    mutating func resolveSocket(_ inode: UInt32) { sockets.resolve(inode) }

    /// Looks up the names of frames that were captured since the last call.
    func resolveLanguageFrames() { builder.resolveLanguageFrames() }

    /// The same in all lines of a stall.
    static func id(of facts: Episode.Facts) -> StallID {
        StallID(
            startRealtimeNanoseconds: facts.identityRealtimeNanoseconds,
            randomHigh: facts.random.0,
            randomLow: facts.random.1
        )
    }

    package mutating func build(
        _ episode: Episode,
        _ watch: WatchRegistry.Registration,
        _ configuration: StallMonitorConfiguration
    )
        -> StallRecord
    {
        let facts = episode.facts
        let program = ProgramFiles.read(of: process, after: self.program)
        self.program = program
        let rules = InAppRules(
            inAppPrefixes: configuration.inAppPrefixes,
            notInAppPrefixes: configuration.notInAppPrefixes,
            program: program
        )
        let withLines = configuration.symbols == .lines
        let findings = StallFindings(episode, rules, withLines: withLines, &builder)
        let worker = Self.worker(of: episode, doing: findings.representative?.index)
        let thread = [facts.thread, worker].first { $0 != 0 } ?? watch.loop.thread.tid
        var record = StallRecord(
            id: Self.id(of: facts),
            startRealtimeNanoseconds: facts.startRealtimeNanoseconds
                - Int64(clamping: facts.interval.since - facts.interval.likely),
            startMonotonicNanoseconds: facts.interval.likely,
            durationNanoseconds: facts.interval.length,
            thresholdNanoseconds: facts.thresholdNanoseconds,
            phase: Self.phase(facts.phase),
            kind: facts.kind,
            loop: watch.name,
            threadID: thread
        )
        record.foundBy = facts.kinds.kinds
        record.threadName = threadName(thread)
        record.severity = severity(of: record, hang: UInt64(configuration.hangAfter.wholeNanoseconds))
        if facts.interval.lengthAtLeast < facts.interval.lengthAtMost {
            record.durationBounds = facts.interval.lengthAtLeast...facts.interval.lengthAtMost
        }
        if facts.interval.excluded > 0 { record.excludedNanoseconds = facts.interval.excluded }
        // If the loop moved on before it was sampled, its activity is not known.
        if facts.activity != .notRunning { record.activity = facts.activity.name }
        record.mode = watch.loop.modeName(facts.mode)
        record.cause = findings.cause
        let evidence = EvidenceBuilder(
            findings: findings,
            tally: episode.tally,
            thread: (record.threadID, record.threadName),
            withLines: withLines
        )
        record.evidence = evidence.build(facts.usage.ofStall(lasting: facts.interval.length), &builder, &sockets)
        // Throttling by other groups' quotas is not counted for this process.
        if let throttling, !throttling.confirm() { record.evidence.throttledNanoseconds = nil }
        record.evidence.pending = facts.pending?.isPending
        // If the loop was already at work when its stall began, this is the part that belongs to the stall.
        if record.evidence.pending == true {
            record.evidence.pendingNanoseconds = facts.pending.map { min($0.nanoseconds, facts.interval.length) }
        }
        record.evidence.jobsWaiting = facts.jobsWaiting
        if facts.kind == .starvation { record.evidence.turns = facts.interval.turns }
        if facts.kind == .callout { record.evidence.turnEvents = facts.turnEvents.map(UInt64.init) }
        record.samples = episode.tally.sampleCount
        fill(&record, from: findings, episode, configuration)
        // What another process publishes may be read by any process.
        RunningFindings(tally: episode.running, contexts: isOfOtherProcess ? .recorded : configuration.contexts)
            .fill(&record, until: facts.interval.until, threshold: facts.thresholdNanoseconds)
        let covering = findings.coveringFunctions
        record.group(by: findings.representative?.frames ?? []) { covering?.contains($0.function) ?? true }
        record.message = StallMessage(record).text
        return record
    }

    /// The stack that represents the stall, and the culprit.
    private func fill(
        _ record: inout StallRecord,
        from findings: StallFindings,
        _ episode: Episode,
        _ configuration: StallMonitorConfiguration
    ) {
        guard let namedStack = findings.representative, namedStack.stack.outcome.method != .none else {
            record.captureError = (findings.representative?.stack.outcome.failure ?? episode.failure)?.rawValue
            return
        }
        let outcome = namedStack.stack.outcome
        record.capture = outcome.method
        record.framePointerRecovered = outcome.framePointerRecovered
        record.unwindEnd = Self.name(outcome.end)
        record.frames = namedStack.levels(
            of: configuration.maxFrames,
            with: findings.culprit?.frameIndex,
            lineBytes: configuration.maxLineBytes
        )
        let shown = record.frames.count
        record.frames = record.frames.withoutForwarders
        record.framesTotal = outcome.total - (shown - record.frames.count)
        record.samplesMatched = findings.culprit?.samplesMatched ?? namedStack.stack.count
        record.samplesShare = findings.culprit?.matchedShare
        if configuration.samples == .all { record.sampleTree = findings.tree }
        record.workers = findings.workers(of: episode.tally, maxFrames: configuration.maxFrames)
        if let culprit = findings.culprit, let index = culprit.frameIndex {
            record.culprit = namedStack.culpritFrames[index].function
            record.culpritConfidence = culprit.confidence
        }
    }

    private static func phase(_ phase: Episode.Phase) -> StallRecord.Phase {
        switch phase {
        case .begin, .opened: .begin
        case .end, .dismissed: .end
        case .abandoned: .abandoned
        }
    }

    private static func name(_ end: UnwindEnd) -> String? {
        switch end {
        case .complete: nil
        case .limit: "limit"
        case .noUnwindInfo: "no_unwind_info"
        case .badFrame: "bad_frame"
        }
    }

    private func severity(of record: StallRecord, hang: UInt64) -> StallRecord.Severity {
        if record.phase == .abandoned { return .critical }
        return record.durationNanoseconds >= max(hang, record.thresholdNanoseconds * 4) ? .error : .warning
    }

    /// The first thread of a pool that was found with that stack; 0: none.
    private static func worker(of episode: Episode, doing stack: Int?) -> Int32 {
        let workers = (0..<episode.tally.workerCount).map(episode.tally.worker)
        return workers.first { Int($0.stack) == stack }?.tid ?? 0
    }

    private mutating func threadName(_ tid: Int32) -> String {
        guard tid > 0 else { return "" }
        var name = cll_name()
        cll_procfs_name(process, tid, &name)
        guard let text = EvidenceBuilder.text(of: name), !text.isEmpty else { return threadNames[tid] ?? "" }
        if threadNames.count >= Self.maximumThreadNames { threadNames.removeAll() }
        threadNames[tid] = text
        return text
    }
}
