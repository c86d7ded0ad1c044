/// One stall as it leaves the process: the fields of a line of schema `lagmonitor.stall.v1`.
///
/// A plain value without behaviour. What all records of a process have in common (`pid`, `host_name`, …) is in
/// `ProcessContext`. Nothing here is checked or cut; texts that are too long are cut in the line. Optional fields that are nil
/// do not appear in the line. The TestKit creates samples.
public struct StallRecord: Sendable, Equatable {
    /// `schema` of every line.
    public static let schema: StaticString = "lagmonitor.stall.v1"

    /// `time`: wall clock at the stall's start, nanoseconds since 1970.
    public var startRealtimeNanoseconds: Int64
    /// `mono_us`: `CLOCK_MONOTONIC` at the stall's start, in nanoseconds here, microseconds in the line.
    public var startMonotonicNanoseconds: UInt64
    /// `id`, shared by the lines of one stall.
    public var id: StallID
    /// `phase`: whether this line is about the stall's beginning, its end, or a stall whose process died.
    public var phase: Phase
    /// `severity`: `error` from `hang_after_ms` on, `critical` if the process died during the stall.
    public var severity = Severity.warning
    /// `message`: one human-readable line.
    public var message = ""
    /// `kind`: the rule that found it.
    public var kind: Kind
    /// `found_by`: every rule that found it, including ``kind``. Not in the line if empty.
    public var foundBy: [Kind] = []
    /// `fingerprint`: groups stalls by the functions on the stack.
    public var fingerprint = ""
    /// `stack_hash`: the exact stack.
    public var stackHash = ""
    /// `duration_ms`: so far for ``Phase/begin``, in all for ``Phase/end``, at least for ``Phase/abandoned``.
    package var durationNanoseconds: UInt64
    /// `duration_min_ms` and `duration_max_ms`: bounds of the duration, if it is not known exactly.
    package var durationBounds: ClosedRange<UInt64>?
    /// `excluded_ms`: time between the stall's start and end in which the process could not run; not in the duration.
    package var excludedNanoseconds: UInt64?
    /// `threshold_ms`: the duration from which this counts as a stall.
    package var thresholdNanoseconds: UInt64

    /// `thread_id`: the kernel's id of the thread that stalled.
    public var threadID: Int32
    /// `thread_name`: from the kernel, at most 15 bytes.
    public var threadName = ""
    /// `loop`: the loop's name.
    public var loop: String
    /// `activity`: what the loop was doing, such as `before_sources`.
    public var activity: String?
    /// `mode`: the mode in which the loop ran.
    public var mode: String?

    /// `request`: the program's context of the stalled thread; nil if there was none, or if it is not certain.
    public var request: Request?
    /// `requests_open`: other contexts that were open on the loop when the stall was recognised, the oldest first, at most eight.
    /// None of them is to blame.
    public var requestsOpen: [Request] = []
    /// `trace_id`: W3C's, 32 hex digits, of the context that was running.
    public var traceID: String?
    /// `span_id`: W3C's, 16 hex digits.
    public var spanID: String?
    /// `state`: what the program added when the stall was recognised (`StallMonitorConfiguration.onStallBegin`).
    public var state: [Request.Attribute] = []
    /// `task`: the task that ran on the stalled thread, Swift's or asyncio's of CPython.
    public var task: RunningTask?

    /// `cause`: why it stalled, as far as ``evidence`` shows.
    public var cause = Cause.unknown
    /// The evidence for the cause.
    public var evidence = Evidence()

    /// `incident`: the id of the first of the stalls that one thread or one lock causes at the same time.
    public var incident: StallID?

    /// `capture`: how the stack was taken.
    public var capture = Capture.none
    /// `capture_error`: why there is no stack, or why a better capture method failed.
    public var captureError: String?
    /// `frame_pointer_recovered`: whether the stack was unwound with a frame pointer that was found by a search, or by frame
    /// pointers through code without unwind tables, such as JIT-compiled code.
    public var framePointerRecovered = false
    /// `unwind_end`: why the stack does not reach the thread's first frame; nil if it does.
    public var unwindEnd: String?
    /// `samples`: how often the stack was sampled.
    public var samples: UInt64 = 0
    /// `samples_matched`: how often the sampled stack was this one.
    public var samplesMatched: UInt64 = 0
    /// `samples_share`, 0…1: the share of the stall's time that this stack covers.
    public var samplesShare: Double?
    /// `sample_tree`: all sampled stacks, merged; empty unless requested.
    public var sampleTree: [SampleNode] = []
    /// `workers`: for a pool, all the threads that worked for it, by what they were found doing, the record's own stack first.
    public var workers: [WorkerGroup] = []
    /// `culprit`: the symbol of the frame to blame.
    public var culprit: String?
    /// `culprit_confidence`, 0…1; values outside are clamped to that range, not-a-number is left out.
    public var culpritConfidence: Double?

    /// `seq`: counts the records that a monitor wrote, from 1, so that a loss shows as a gap. Records that a limit held back have
    /// none.
    public var sequence: UInt64 = 0
    /// `dropped_total`: records lost so far in this process.
    public var droppedTotal: UInt64 = 0
    /// `suppressed_total`: stalls held back on purpose so far (limits of rate).
    public var suppressedTotal: UInt64 = 0
    /// `late`: for a line that was read back: whether it was kept on disk before it was sent (`SpooledSink`).
    public var isLate = false

    /// `frames_total`: the stack's depth before any trimming, without inlined frames.
    public var framesTotal = 0
    /// `frames`, leaf first.
    public var frames: [Frame] = []

    /// The mandatory properties; the rest is set afterwards.
    package init(
        id: StallID,
        startRealtimeNanoseconds: Int64,
        startMonotonicNanoseconds: UInt64,
        durationNanoseconds: UInt64,
        thresholdNanoseconds: UInt64,
        phase: Phase,
        kind: Kind,
        loop: String,
        threadID: Int32
    ) {
        self.id = id
        self.startRealtimeNanoseconds = startRealtimeNanoseconds
        self.startMonotonicNanoseconds = startMonotonicNanoseconds
        self.durationNanoseconds = durationNanoseconds
        self.thresholdNanoseconds = thresholdNanoseconds
        self.phase = phase
        self.kind = kind
        self.loop = loop
        self.threadID = threadID
    }
}

// The fields of the properties above, for ``FieldTable``.
extension StallRecord {
    static let fields: [FieldDefinition] = beginning + times + place + running + stack + counters

    private static let beginning: [FieldDefinition] = [
        .field(.time, "time", .time(\.startRealtimeNanoseconds), required: .all, keep: .always, in: [])
            .andNotice { .time($0.time.realtimeNanoseconds) }
            .means("When the stall began; for other events: when the line was created."),
        .field(.id, "id", .id(\.id), required: .stall, keep: .always)
            .means("The stall's id: a UUID of version 7, derived from its start. The lines of one stall share it."),
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
        .field(
            .fingerprint,
            "fingerprint",
            .text(\.fingerprint, as: .fingerprint),
            required: [.stall, .recurring],
            cap: .hash,
            keep: .always
        )
        .andNotice { $0.fingerprint.map(FieldValue.text) }
        .means("Groups stalls by what was called: the same for one cause on all hosts and in all builds."),
        .field(.stackHash, "stack_hash", .text(\.stackHash, as: .stackHash), required: .stall, cap: .hash)
            .means("Hash of the exact stack, by build-id and offset."),
    ]

    private static let times: [FieldDefinition] = [
        .field(.duration, "duration_ms", .milliseconds(\.durationNanoseconds), required: .stall, keep: .always)
            .means("begin: so far. end: in all. abandoned: at least."),
        .field(.excluded, "excluded_ms", .milliseconds(\.excludedNanoseconds))
            .means("Time between start and end in which the process could not run; not in duration_ms."),
        .field(.threshold, "threshold_ms", .milliseconds(\.thresholdNanoseconds), required: .stall, keep: .essential)
            .means("The duration from which this counts as a stall."),
    ]

    private static let place: [FieldDefinition] = [
        .field(.threadID, "thread_id", .taskID(\.threadID), required: .stall, keep: .always, in: .metadata)
            .means("The kernel's id of the stalled thread."),
        .field(.threadName, "thread_name", .text(\.threadName), required: .stall, cap: .name, keep: .always, in: .metadata)
            .means("The stalled thread's name."),
        .field(.loop, "loop", .text(\.loop), required: .stall, cap: .name, keep: .essential)
            .means("The loop's name."),
        .field(.activity, "activity", .text(\.activity))
            .means("What the loop was doing, such as before_sources."),
        .field(.mode, "mode", .text(\.mode))
            .means("The mode in which the loop ran."),
    ]

    private static let running: [FieldDefinition] = [
        .field(.traceID, "trace_id", .text(\.traceID, as: .traceID), cap: .fixed, keep: .essential, in: .metadata)
            .means("W3C's trace id of the context that was running."),
        .field(.spanID, "span_id", .text(\.spanID, as: .stackHash), cap: .fixed, keep: .essential, in: .metadata)
            .means("W3C's span id of the context that was running."),
        .field(.request, "request", .request(\.request), cap: .name, keep: .essential, in: .metadata).means(
            """
            The program's context of the stalled thread (withStallContext, OpenTelemetry's thread context); absent if it is not \
            certain.
            """
        ),
        .field(.requestsOpen, "requests_open", .requests(\.requestsOpen), cap: .name, in: []).means(
            """
            Other contexts, at most eight: those that the thread ran for a part of the stall (running), and those that were open \
            on its loop or pool when the stall was recognised.
            """
        ),
        .field(.task, "task", .task(\.task), cap: .name, keep: .essential, in: .metadata)
            .means("The task that ran on the stalled thread: Swift's, or asyncio's of CPython."),
        .field(.state, "state", .attributes(\.state), cap: .name, in: .metadata).means(
            """
            What the program added when the stall was recognised (onStallBegin), or published about its thread's work without a \
            name.
            """
        ),
    ]

    private static let stack: [FieldDefinition] = [
        .field(.cause, "cause", .oneOf(\.cause), required: .stall, keep: .always)
            .means("Why the thread made no progress."),
        .field(.incident, "incident", .id(\.incident), in: .metadata)
            .means("Shared by the stalls that one thread or one lock causes at the same time: the id of the first of them."),
        .field(.capture, "capture", .oneOf(\.capture), required: .stall, keep: .essential)
            .means("How the stack was captured; none: no stack."),
        .field(.captureError, "capture_error", .text(\.captureError), cap: .reason)
            .means("Why there is no stack, or why a better capture method failed."),
        .field(.framePointerRecovered, "frame_pointer_recovered", .flag(\.framePointerRecovered), in: .fields).means(
            """
            The stack was unwound with a frame pointer that was found by a search, or by frame pointers through code without \
            unwind tables, such as JIT-compiled code.
            """
        ),
        .field(.unwindEnd, "unwind_end", .text(\.unwindEnd), in: .fields)
            .means("Why the stack does not reach the thread's first frame."),
        .field(.samples, "samples", .count(\.samples), required: .stall, keep: .essential)
            .means("How often the stack was sampled."),
        .field(.samplesMatched, "samples_matched", .count(\.samplesMatched), required: .stall, keep: .essential)
            .means("How often the sampled stack was this one."),
        .field(.samplesShare, "samples_share", .share(\.samplesShare), in: .fields)
            .means("The share of the stall's time that this stack covers."),
        .field(.workers, "workers", .workers(\.workers), in: [])
            .means(
                """
                The threads of workers_total, by what they were last found doing; the first group is the one of the record's own \
                stack.
                """
            ),
        .field(.culprit, "culprit", .text(\.culprit), cap: .symbol, keep: .essential)
            .andNotice { $0.culprit.map(FieldValue.text) }
            .means("The function to blame."),
        .field(.culpritConfidence, "culprit_confidence", .share(\.culpritConfidence), keep: .essential)
            .means("How certain that is."),
    ]

    private static let counters: [FieldDefinition] = [
        .field(.sequence, "seq", .count(\.sequence), required: .stall, keep: .essential)
            .means("Counts the lines about stalls: a gap is a loss."),
        .field(
            .droppedTotal,
            "dropped_total",
            .count(\.droppedTotal),
            required: [.stall, .dropped],
            keep: .essential,
            in: .fields
        )
        .andNotice { $0.droppedTotal.map(FieldValue.count) }
        .means("Lines lost so far in this process."),
        .field(
            .suppressedTotal,
            "suppressed_total",
            .count(\.suppressedTotal),
            required: [.stall, .suppressed],
            keep: .essential,
            in: .fields
        )
        .andNotice { $0.suppressedTotal.map(FieldValue.count) }
        .means("Stalls held back by a limit so far in this process."),
        .field(.late, "late", .flag(\.isLate), in: .fields)
            .means("Only when true: the line was kept on disk while its destination did not accept it, and sent afterwards."),
        .field(.frames, "frames", .frames(\.frames), required: .stall, keep: .always, in: .metadata)
            .means("The stack, leaf first."),
    ]
}
