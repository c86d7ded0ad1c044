public enum OpenTelemetryContexts {
    public struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        public let description: String
    }

    /// Publishes nothing: finding threads needs features of Linux.
    public static func publish(serviceName: String? = nil, serviceVersion: String? = nil) throws(Refusal) {}
}
