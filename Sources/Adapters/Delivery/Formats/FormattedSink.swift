public import LagActivity
public import LagOutput

/// A sink whose lines have a format of their own, regardless of the monitor's format.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorDelivery
///
/// StallMonitor(sinks: [try FileSink(path: "stalls.jsonl"), FormattedSink(try StreamSink(.tcp(host: "127.0.0.1", port: 6000)), .ecs)])
/// ```
/// A sink whose destination accepts only one format (``RecordSink/format``) keeps that one.
public final class FormattedSink: RecordSink, LossExplainingSink {
    public let format: RecordFormat?
    private let sink: any RecordSink

    public init(_ sink: any RecordSink, _ format: RecordFormat) {
        self.sink = sink
        self.format = sink.format ?? format
    }

    public var name: String { sink.name }
    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { try sink.write(line) }
    public func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) throws(SinkError) {
        try sink.write(line, about: facts)
    }
    public func reopen() throws(SinkError) { try sink.reopen() }
    public func close() { sink.close() }
    public func resume() throws(SinkError) { try sink.resume() }
    public func limitWaiting(until deadline: MonotonicTime?) {
        sink.limitWaiting(until: deadline)
    }
    public func takeAbandonedLines() -> UInt64 { sink.takeAbandonedLines() }
    public func takeAbandonedNotices() -> [Notice] { sink.takeAbandonedNotices() }
    package var lossReason: String? { (sink as? any LossExplainingSink)?.lossReason }
    public var unsettledLines: Int { sink.unsettledLines }
    public var keptLines: Int? { sink.keptLines }
}
