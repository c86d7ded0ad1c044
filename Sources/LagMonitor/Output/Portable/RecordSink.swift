@_exported public import LagModel

/// Where lines go.
///
/// Called from the reporter thread only, one call at a time; it may block that thread, but not without bound
/// (``limitWaiting(untilMonotonicNanoseconds:)``). A class, so that the reporter and who made it can both hold it.
public protocol RecordSink: AnyObject, Sendable {
    /// For people, and in errors: the path, `stdout`.
    var name: String { get }

    /// Takes one whole line, newline included.
    ///
    /// When this returns, the line has arrived, or its beginning has and the sink holds the rest and will write it before
    /// anything else. When it throws, nothing of the line has arrived or will arrive.
    func write(_ line: UnsafeRawBufferPointer) throws(SinkError)

    /// Takes one whole line and what it says in a few words, for destinations with fields of their own. The promises are those of
    /// ``write(_:)``, which the default calls.
    func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) throws(SinkError)

    /// The only format that the destination understands; nil, as by default: the monitor's.
    var format: RecordFormat? { get }

    /// Opens the destination anew, as log rotation asks for (SIGHUP). Nothing to do for most sinks.
    func reopen() throws(SinkError)

    /// Ends the sink: tries to finish a line once more within the deadline, and releases the descriptor. Idempotent.
    func close()

    /// Makes a sink usable again that was closed; nothing to do for one that is open.
    func resume() throws(SinkError)

    /// From now on no call waits for a reader beyond this point of `CLOCK_MONOTONIC`; nil removes the limit and leaves
    /// the sink's own time-out a line. For shutdown. Any thread; a wait in progress notices within 50 ms.
    func limitWaiting(untilMonotonicNanoseconds deadline: UInt64?)

    /// Records' lines that were taken but could not be finished after all, since the last call.
    func takeAbandonedLines() -> UInt64

    /// The `dropped` lines that were taken but could not be finished after all, since the last call: what they report will be reported
    /// again. A line of ``takeAbandonedLines()`` is not one of these. None, as by default, where such lines count as records.
    ///
    /// A notice with a total of 0 reports records that an earlier process left and that this sink could not bring to the destination:
    /// they count as lost from then on, and not as taken before.
    func takeAbandonedNotices() -> [Notice]

    /// Lines that were taken and may still be given up after this, without a further call. 0, as by default: none ever are.
    var unsettledLines: Int { get }

    /// Of ``unsettledLines`` those that wait on disk, also beyond the end of the process, and will be marked as late. Nil, as by default: the sink
    /// keeps none.
    var keptLines: Int? { get }
}

extension RecordSink {
    public var format: RecordFormat? { nil }
    public func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) throws(SinkError) { try write(line) }
    public func reopen() throws(SinkError) {}
    public func resume() throws(SinkError) {}
    public func limitWaiting(untilMonotonicNanoseconds deadline: UInt64?) {}
    public func takeAbandonedLines() -> UInt64 { 0 }
    public func takeAbandonedNotices() -> [Notice] { [] }
    public var unsettledLines: Int { 0 }
    public var keptLines: Int? { nil }
}
