internal import LagModel

/// What the product LagMonitorDelivery adds for settings, which name it by texts.
package struct DeliveryParts: Sendable {
    /// All formats but the native one.
    package let formats: [RecordFormat]
    /// Of a journal's socket, by its path.
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

    /// Where journald listens.
    package static let journalPath = "/run/systemd/journal/socket"

    private static let parts = PthreadMutex<DeliveryParts?>(nil)

    /// Those of this process; nil: the program does not link the product, or has not enabled it. Any thread.
    package static var enabled: DeliveryParts? { parts.withLock { $0 } }

    /// From now on settings may name them. Any thread.
    package static func use(_ parts: DeliveryParts) { self.parts.withLock { $0 = parts } }

    /// What who names one of them has to do, where nothing is ``enabled``.
    package static let remedy = "Delivery.enable() of the product LagMonitorDelivery"
}
