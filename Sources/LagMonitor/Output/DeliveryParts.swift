internal import LagModel

/// What the product LagMonitorDelivery adds for settings, which refer to it by name.
package struct DeliveryParts: Sendable {
    /// All formats except the native one.
    package let formats: [RecordFormat]
    /// The sink of a journal's socket, by its path.
    package let journal: @Sendable (String) throws(SinkError) -> any RecordSink
    package let stream: @Sendable (StreamAddress) throws(SinkError) -> any RecordSink
    package let spooled: @Sendable (any RecordSink, SpoolSettings) throws(SinkError) -> any RecordSink

    package init(
        formats: [RecordFormat],
        journal: @escaping @Sendable (String) throws(SinkError) -> any RecordSink,
        stream: @escaping @Sendable (StreamAddress) throws(SinkError) -> any RecordSink,
        spooled: @escaping @Sendable (any RecordSink, SpoolSettings) throws(SinkError) -> any RecordSink
    ) {
        (self.formats, self.journal, self.stream, self.spooled) = (formats, journal, stream, spooled)
    }

    /// journald's socket.
    package static let journalPath = "/run/systemd/journal/socket"

    private static let parts = PthreadMutex<DeliveryParts?>(nil)

    /// This process's parts; nil: the program does not link the product, or has not enabled it. Any thread.
    package static var enabled: DeliveryParts? { parts.withLock { $0 } }

    /// From now on settings may refer to them. Any thread.
    package static func use(_ parts: DeliveryParts) { self.parts.withLock { $0 = parts } }

    /// What a user of one of them has to do if nothing is ``enabled``.
    package static let remedy = "Delivery.enable() of the product LagMonitorDelivery"
}
