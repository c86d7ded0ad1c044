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
