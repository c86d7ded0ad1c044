// Sinks that open nothing: no monitor writes to them here. A line that somebody else writes is refused, not lost.

extension SinkError {
    static func notSupported(_ name: String) -> SinkError {
        SinkError(.cannotOpen, path: name, detail: "sinks of LagMonitor are supported on Linux alone")
    }

    var codeText: String { "errno \(code)" }
}

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

public final class FileSink: RecordSink {
    public let name: String

    public convenience init(
        path: String,
        rotation: FileRotation? = nil,
        timeout: Duration = DescriptorSink.defaultTimeout
    ) throws(SinkError) { self.init(path) }

    private init(_ path: String) { name = path }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { throw .notSupported(name) }
    public func close() {}
}

public final class JournalSink: RecordSink {
    public static let defaultPath = "/run/systemd/journal/socket"

    public let name: String

    public init(
        path: String = JournalSink.defaultPath,
        identifier: String? = nil,
        timeout: Duration = DescriptorSink.defaultTimeout
    ) throws(SinkError) { name = path }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { throw .notSupported(name) }
    public func close() {}
}

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

public final class MemorySink: RecordSink {
    public let name: String

    public init(name: String = "memory") { self.name = name }

    public var lines: [String] { [] }
    public var reopenCount: Int { 0 }
    public var isClosed: Bool { false }
    public func fail(with error: SinkError?) {}
    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { throw .notSupported(name) }
    public func close() {}
}

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

public final class SpooledSink: RecordSink {
    private let sink: any RecordSink

    public convenience init(_ sink: any RecordSink, _ settings: SpoolSettings) throws(SinkError) { self.init(sink) }

    private init(_ sink: any RecordSink) { self.sink = sink }

    public var name: String { sink.name }
    public var format: RecordFormat? { sink.format }
    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { try sink.write(line) }
    public func close() { sink.close() }
}
