/// Opens nothing.
public final class MemorySink: RecordSink {
    public let name: String

    public init(name: String = "memory") { self.name = name }

    public var lines: [String] { [] }
    public var isClosed: Bool { false }
    public func fail(with error: SinkError?) {}
    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { throw .notSupported(name) }
    public func close() {}
}
