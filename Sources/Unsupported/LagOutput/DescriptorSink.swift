/// Opens nothing.
public final class DescriptorSink: RecordSink {
    public static let defaultTimeout: Duration = .seconds(1)

    public let name: String

    public convenience init(descriptor: Int32, name: String, timeout: Duration = DescriptorSink.defaultTimeout) throws(SinkError)
    {
        self.init(name)
    }

    private init(_ name: String) { self.name = name }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { throw .notSupported(name) }
    public func close() {}
}
