public import LagOutput

/// Passes lines to the other sink unchanged.
public final class FormattedSink: RecordSink {
    private let sink: any RecordSink
    public let format: RecordFormat?

    public init(_ sink: any RecordSink, _ format: RecordFormat) {
        self.sink = sink
        self.format = format
    }

    public var name: String { sink.name }
    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { try sink.write(line) }
    public func close() { sink.close() }
}
