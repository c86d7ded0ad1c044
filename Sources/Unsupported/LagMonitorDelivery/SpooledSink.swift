public import LagOutput

/// Passes lines to the other sink unchanged.
public final class SpooledSink: RecordSink {
    private let sink: any RecordSink

    public convenience init(_ sink: any RecordSink, _ settings: SpoolSettings) throws(SinkError) { self.init(sink) }

    private init(_ sink: any RecordSink) { self.sink = sink }

    public var name: String { sink.name }
    public var format: RecordFormat? { sink.format }
    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { try sink.write(line) }
    public func close() { sink.close() }
}
