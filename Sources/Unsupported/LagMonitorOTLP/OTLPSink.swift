internal import LagMonitorDelivery
public import LagOutput

/// Sends no requests.
public final class OTLPSink: RecordSink {
    public static let capacity = 512

    public let name: String
    public let format: RecordFormat? = .otlp

    public convenience init(
        endpoint: String,
        headers: [String: String] = [:],
        timeout: Duration = .seconds(10),
        rule: OTLPRetryRule = OTLPRetryRule()
    ) throws(SinkError) { self.init(endpoint) }

    private init(_ name: String) { self.name = name }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { throw .notSupported(name) }
    public func close() {}
}

public struct OTLPRetryRule: Sendable, Equatable {
    public var attempts = 6
    public var firstDelay: Duration = .seconds(1)
    public var longestDelay: Duration = .seconds(60)

    public init() {}
}
