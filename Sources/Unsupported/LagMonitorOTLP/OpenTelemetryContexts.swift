public enum OpenTelemetryContexts {
    public struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        public let description: String
    }

    /// Publishes nothing: threads are found by what Linux has.
    public static func publish(serviceName: String? = nil, serviceVersion: String? = nil) throws(Refusal) {}
}
