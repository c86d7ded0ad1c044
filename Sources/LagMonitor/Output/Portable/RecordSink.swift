public import LagActivity
@_exported public import LagModel

/// A destination of lines.
///
/// Called only from the reporter thread, one call at a time. It may block that thread, but only for a bounded time
/// (``limitWaiting(until:)``). It is a class, so that both the reporter and the sink's creator can hold it.
public protocol RecordSink: AnyObject, Sendable {
    /// For people, and in errors: the path, `stdout`.
    var name: String { get }

    /// Writes one whole line, newline included.
    ///
    /// If this returns, the line has arrived; or its beginning has, and the sink holds the rest and will write it before anything
    /// else. If it throws, nothing of the line has arrived or will arrive.
    func write(_ line: UnsafeRawBufferPointer) throws(SinkError)

    /// Writes one whole line, and gets its main contents, for destinations with fields of their own. The guarantees are those of
    /// ``write(_:)``, which the default calls.
    func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) throws(SinkError)

    /// The only format that the destination accepts; nil, the default: the monitor's.
    var format: RecordFormat? { get }

    /// Opens the destination again, as log rotation requires (SIGHUP). Most sinks have nothing to do.
    func reopen() throws(SinkError)

    /// Closes the sink: tries once more to finish a line within the deadline, and releases the descriptor. Idempotent.
    func close()

    /// Makes a closed sink usable again; does nothing if it is open.
    func resume() throws(SinkError)

    /// From now on no call waits for a reader beyond this time; nil removes the limit and leaves the sink's own time-out for
    /// each line. For shutdown. Any thread; a wait in progress notices within 50 ms.
    func limitWaiting(until deadline: MonotonicTime?)

    /// How many records' lines, since the last call, were accepted but could not be finished after all.
    func takeAbandonedLines() -> UInt64

    /// The `dropped` lines that, since the last call, were accepted but could not be finished after all (``LineFacts/notice``):
    /// what they report will be reported again. A line of ``takeAbandonedLines()`` is not one of these. The default is none; then
    /// such lines count as records.
    ///
    /// `Notice.dropped(_:_:)` reports records that an earlier process left and that this sink could not deliver: they count as
    /// lost from then on, and not as accepted before.
    func takeAbandonedNotices() -> [Notice]

    /// Lines that were accepted and may still be abandoned, without a further call. The default is 0: none.
    var unsettledLines: Int { get }

    /// How many of ``unsettledLines`` wait on disk, even beyond the process's exit, and will be marked as late. The default is
    /// nil: the sink keeps none.
    var keptLines: Int? { get }
}

extension RecordSink {
    public var format: RecordFormat? { nil }
    public func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) throws(SinkError) { try write(line) }
    public func reopen() throws(SinkError) {}
    public func resume() throws(SinkError) {}
    public func limitWaiting(until deadline: MonotonicTime?) {}
    public func takeAbandonedLines() -> UInt64 { 0 }
    public func takeAbandonedNotices() -> [Notice] { [] }
    public var unsettledLines: Int { 0 }
    public var keptLines: Int? { nil }
}
