/// How a record or a notice is written. Each is one JSON object a line, within the same limit.
public enum RecordFormat: String, Sendable, CaseIterable {
    /// Schema `lagmonitor.stall.v1`: everything that is known.
    case native
    /// A line is a whole `ExportLogsServiceRequest` in OTLP's JSON encoding, with one log record.
    case otlp
    /// Elastic Common Schema 8, nested; what it has no field for is in an object `lagmonitor`.
    case ecs
    /// A Sentry event, for the `event` item of an envelope.
    case sentry
}
