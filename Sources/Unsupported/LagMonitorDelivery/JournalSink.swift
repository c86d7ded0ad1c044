public import LagOutput

/// Opens nothing.
public final class JournalSink: RecordSink {
    public static let defaultPath = DeliveryParts.journalPath

    public let name: String

    public init(
        path: String = JournalSink.defaultPath,
        identifier: String? = nil,
        timeout: Duration = DescriptorSink.defaultTimeout
    ) throws(SinkError) { name = path }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { throw .notSupported(name) }
    public func close() {}
}
