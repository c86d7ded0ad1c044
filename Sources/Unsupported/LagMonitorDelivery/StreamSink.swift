public import LagOutput

/// Opens nothing.
public final class StreamSink: RecordSink {
    public let name: String

    public convenience init(
        _ address: StreamAddress,
        timeout: Duration = DescriptorSink.defaultTimeout
    ) throws(SinkError) { self.init(address.description) }

    private init(_ name: String) { self.name = name }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { throw .notSupported(name) }
    public func close() {}
}
