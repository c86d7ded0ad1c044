internal import LagOutput

/// Formats and destinations for readers that need more than JSON lines in a file, for programs that take them from settings.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorDelivery
///
/// Delivery.enable()
/// let output = try OutputSettings("tcp:127.0.0.1:6000")
/// let monitor = StallMonitor(sinks: [try output.makeSink()])
/// ```
///
/// Code that uses ``StreamSink``, ``JournalSink``, ``SpooledSink`` or a format directly need not enable anything.
public enum Delivery {
    /// From now on, settings and the environment may name these formats and destinations. Further calls do nothing. Any thread.
    public static func enable() {
        DeliveryParts.use(
            DeliveryParts(formats: RecordFormat.all.filter { $0 != .native }) { path throws(SinkError) in
                try JournalSink(path: path)
            } stream: { address throws(SinkError) in
                try StreamSink(address)
            } spooled: { sink, settings throws(SinkError) in
                try SpooledSink(sink, settings)
            }
        )
    }
}
