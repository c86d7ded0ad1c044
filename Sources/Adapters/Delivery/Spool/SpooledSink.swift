internal import Glibc
public import LagActivity
public import LagOutput
internal import Synchronization

/// Keeps lines on disk while the inner sink cannot deliver them, and sends them when it can again, even after a restart.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorDelivery
///
/// let stream = try StreamSink(.tcp(host: "127.0.0.1", port: 6000))
/// let monitor = StallMonitor(sinks: [try SpooledSink(stream, SpoolSettings(folder: "/var/lib/shop"))])
/// ```
///
/// Lines arrive in the order in which they were written: while some are kept, new ones are added after them. A line that was kept
/// is marked as late (`late`; `lagmonitor.late` in formats other than the native one). Kept lines count neither as reported nor
/// as dropped (``unsettledLines``, ``keptLines``). If the spool is full, lines are refused (``SinkError/Reason/tooSlow``) and
/// counted where they are missing.
///
/// A line is removed from disk when the inner sink has delivered it, as far as that sink can know (for a stream: the kernel has
/// it). A line may arrive twice if an answer was lost or the process was killed: its `id` shows that. If a process is killed,
/// lines that are in memory and not yet refused by the destination are lost.
///
/// The reporter thread sends kept lines: with each new line, and once a second while there are any; up to ``batchLines`` at a
/// time.
public final class SpooledSink: RecordSink, LossExplainingSink {
    private struct State {
        var spool: LineSpool
        /// The first lines of the spool, which the inner sink has and may still return.
        var onTheirWay: [SpoolFile.Entry] = []
        var retry = RetryDelay()
        var lost = LineSpool.Loss()
        var isClosed = false
    }

    /// How many lines are sent at a time, and their bytes.
    static let batchLines = 256
    static let batchBytes = 1 << 20
    /// So that new lines need not wait long for old ones.
    private static let batchNanoseconds: UInt64 = 200_000_000

    private let sink: any RecordSink
    private let returning: (any ReturningSink)?
    private let clock: @Sendable () -> UInt64
    private let state: Mutex<State>

    /// Takes over the lines that an earlier process left for the same destination.
    /// - Throws: ``SinkError/Reason/cannotOpen`` if the folder, or a file in it, cannot be used.
    public convenience init(_ sink: any RecordSink, _ settings: SpoolSettings) throws(SinkError) {
        try self.init(sink, settings) { WriteDeadline.now }
    }

    /// - Parameter clock: `CLOCK_MONOTONIC`; for tests.
    package init(
        _ sink: any RecordSink,
        _ settings: SpoolSettings,
        clock: @escaping @Sendable () -> UInt64
    ) throws(SinkError) {
        self.sink = sink
        self.clock = clock
        returning = sink as? any ReturningSink
        if let code = Self.obstacle(to: settings.folder) {
            let detail = "lines cannot be kept in that folder: \(String(cString: strerror(code)))"
            throw SinkError(.cannotOpen, path: settings.folder, code: code, detail: detail)
        }
        let destination = (sink as? any ReturningSink)?.destination ?? sink.name
        var spool = LineSpool(folder: settings.folder, destination: destination, capacity: settings.maxBytes)
        var lost = LineSpool.Loss()
        try spool.open(&lost)
        state = Mutex(State(spool: spool, lost: lost))
        returning?.returnsUndelivered()
    }

    /// Creates the folder if it is missing; nil: files can be created in it.
    private static func obstacle(to folder: String) -> Int32? {
        if mkdir(folder, 0o700) != 0, errno != EEXIST { return errno }
        var status = stat()
        guard stat(folder, &status) == 0 else { return errno }
        guard status.st_mode & S_IFMT == S_IFDIR else { return ENOTDIR }
        return access(folder, W_OK | X_OK) == 0 ? nil : errno
    }

    public var name: String { sink.name }
    public var format: RecordFormat? { sink.format }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { try write(line, about: nil) }
    public func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) throws(SinkError) {
        try write(line, about: Optional(facts))
    }

    private func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts?) throws(SinkError) {
        let failure: SinkError? = state.withLock { state in
            guard !state.isClosed else { return SinkError(.closed, path: name) }
            settle(&state)
            sendKept(&state)
            var failure = SinkError(.tooSlow, path: name, detail: "its spool is full or cannot be written")
            if state.spool.isEmpty {
                do throws(SinkError) {
                    if let facts { try sink.write(line, about: facts) } else { try sink.write(line) }
                    return nil
                } catch {
                    // Not a line of the destination's format: it will never be accepted.
                    if error.reason == .writeFailed, error.code == EINVAL { return error }
                    failure = error
                }
                // They are older.
                if let returned = returning?.takeReturned(all: true) { keep(returned, &state) }
                state.retry.recordFailure(at: clock())
            }
            return state.spool.append([UInt8](line), isRecord: facts?.notice == nil) ? nil : failure
        }
        if let failure { throw failure }
    }

    public func reopen() throws(SinkError) {
        state.withLock { $0.retry.reset() }
        try sink.reopen()
    }

    public func resume() throws(SinkError) {
        try sink.resume()
        try state.withLock { state throws(SinkError) in
            guard state.isClosed else { return }
            state.isClosed = false
            try state.spool.open(&state.lost)
        }
    }

    /// Tries once more, if it is time; unsent lines stay on disk.
    public func close() {
        state.withLock { state in
            guard !state.isClosed else { return }
            settle(&state)
            sendKept(&state)
        }
        sink.close()
        state.withLock { state in
            guard !state.isClosed else { return }
            settle(&state)
            state.onTheirWay = []
            state.retry.reset()
            state.spool.close()
            state.isClosed = true
        }
    }

    public func limitWaiting(until deadline: MonotonicTime?) {
        sink.limitWaiting(until: deadline)
    }

    /// Sends kept lines, if it is time.
    public func takeAbandonedLines() -> UInt64 {
        let own: UInt64 = state.withLock { state in
            defer { state.lost.own = 0 }
            guard !state.isClosed else { return state.lost.own }
            settle(&state)
            sendKept(&state)
            return state.lost.own
        }
        return own + sink.takeAbandonedLines()
    }

    /// Includes lines of an earlier process that cannot be sent: they are not part of any total yet.
    public func takeAbandonedNotices() -> [Notice] {
        let inherited: UInt64 = state.withLock { state in
            defer { state.lost.inherited = 0 }
            return state.lost.inherited
        }
        let notices = sink.takeAbandonedNotices()
        return inherited == 0 ? notices : notices + [Notice.dropped(inherited, .sinkFailed)]
    }

    package var lossReason: String? { (sink as? any LossExplainingSink)?.lossReason }

    public var unsettledLines: Int {
        state.withLock { state in state.spool.lines + (state.onTheirWay.isEmpty ? sink.unsettledLines : 0) }
    }

    public var keptLines: Int? { state.withLock { $0.spool.lines } }

    /// Handles the results of the inner sink's lines.
    private func settle(_ state: inout State) {
        if let returned = returning?.takeReturned(all: false), !returned.lines.isEmpty { keep(returned, &state) }
        guard !state.onTheirWay.isEmpty, sink.unsettledLines == 0 else { return }
        state.spool.remove(state.onTheirWay)
        state.onTheirWay = []
        state.retry.reset()
    }

    private func keep(_ returned: ReturnedLines, _ state: inout State) {
        guard !returned.lines.isEmpty else { return }
        if state.onTheirWay.isEmpty {
            for line in returned.lines where !state.spool.append(line.bytes, isRecord: line.isRecord) && line.isRecord {
                state.lost.own += 1
            }
        } else {
            // These are the last of them, and on disk.
            state.spool.remove(state.onTheirWay.dropLast(returned.lines.count))
            state.onTheirWay = []
        }
        state.retry.recordFailure(at: clock())
        state.retry.postpone(until: clock().saturatingSum(returned.retryAfterNanoseconds))
    }

    private func sendKept(_ state: inout State) {
        guard state.onTheirWay.isEmpty, !state.spool.isEmpty else { return }
        let start = clock()
        guard state.retry.allows(at: start) else { return }
        for entry in state.spool.first(Self.batchLines, maxBytes: Self.batchBytes, &state.lost) {
            let line = LateField.marked(entry.line)
            do throws(SinkError) {
                try line.span.withUnsafeBufferPointer { buffer throws(SinkError) in
                    let bytes = UnsafeRawBufferPointer(buffer)
                    if entry.isRecord { try sink.write(bytes) } else { try sink.write(bytes, about: Self.notice) }
                }
            } catch {
                guard error.reason == .writeFailed, error.code == EINVAL else {
                    state.retry.recordFailure(at: clock())
                    return
                }
                // It has another format; if there are lines in progress before it, it has its turn later.
                guard state.onTheirWay.isEmpty else { return }
                state.spool.giveUp(entry, &state.lost)
                continue
            }
            state.onTheirWay.append(entry)
            settle(&state)
            guard state.retry.allows(at: clock()), clock() &- start < Self.batchNanoseconds else { return }
        }
    }

    /// For a kept line that is not a record.
    private static let notice = LineFacts(event: "notice", severity: .warning, message: "")
}
