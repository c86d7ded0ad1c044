/// Opens nothing.
public final class FileSink: RecordSink {
    public let name: String

    public convenience init(
        path: String,
        rotation: FileRotation? = nil,
        permissions: FilePermissions = .owner,
        timeout: Duration = DescriptorSink.defaultTimeout
    ) throws(SinkError) { self.init(path) }

    private init(_ path: String) { name = path }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { throw .notSupported(name) }
    public func close() {}
}
