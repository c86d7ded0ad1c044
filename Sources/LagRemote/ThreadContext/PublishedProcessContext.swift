/// The process context of another process, as it was last read: by the protocol of OTEP 4719, so that what is read was published as a whole.
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
    /// As the reader of OpenTelemetry's profiler.
    private static let maximumPayloadBytes: UInt32 = 65_536
    /// A writer that keeps changing it has no context.
    private static let attempts = 3

    /// When what follows was published; 0: nothing was read so far.
    private var published: UInt64 = 0
    private(set) var message: ProcessContextMessage?

    /// Reads it again if it is another one by now: two reads if it is not, 1 µs.
    /// - Parameter header: where its mapping begins.
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
        // It is being changed: the former one was right until now.
    }
}
