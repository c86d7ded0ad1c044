/// The process context of another process, as last read, with the protocol of OTEP 4719, so that it was published as a whole.
struct PublishedProcessContext: Sendable {
    private enum Header {
        static let bytes = 32
        static let version = 8
        static let payloadBytes = 12
        static let published = 16
        static let payload = 24
    }

    private static let signature = Array("OTEL_CTX".utf8)
    private static let knownVersion: UInt32 = 2
    /// The same limit as in OpenTelemetry's profiler.
    private static let maximumPayloadBytes: UInt32 = 65_536
    /// A context that keeps changing is ignored.
    private static let attempts = 3

    /// When the following data was published; 0: nothing read so far.
    private var published: UInt64 = 0
    private(set) var message: ProcessContextMessage?

    /// Reads it again if it has changed; otherwise two reads, 1 µs.
    /// - Parameter header: the start of its mapping.
    mutating func refresh(_ memory: RemoteMemory, header: UInt64) {
        for _ in 0..<Self.attempts {
            guard let words = memory.bytes(header, Header.bytes), Array(words.prefix(8)) == Self.signature,
                words.number(at: Header.version) == Self.knownVersion,
                let published: UInt64 = words.number(at: Header.published)
            else {
                self = PublishedProcessContext()
                return
            }
            if published == self.published, published != 0 { return }
            guard published != 0, let count: UInt32 = words.number(at: Header.payloadBytes), count > 0,
                count <= Self.maximumPayloadBytes, let payload: UInt64 = words.number(at: Header.payload)
            else { continue }
            let bytes = memory.bytes(payload, Int(count))
            guard memory.load(header &+ UInt64(Header.published), as: UInt64.self) == published else { continue }
            guard let bytes else {
                self = PublishedProcessContext()
                return
            }
            self.published = published
            message = ProcessContextMessage(bytes)
            return
        }
        // It is being changed: the previous one was valid until now.
    }
}
