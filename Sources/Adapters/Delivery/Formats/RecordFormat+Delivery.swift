public import LagOutput

extension RecordFormat {
    /// A line is a complete `ExportLogsServiceRequest` in OTLP's JSON encoding, with one log record.
    public static let otlp = RecordFormat(
        "otlp",
        OTLPLayout(),
        LateField(#"{"resourceLogs":["#, "]}]}]}]}\n", #"{"key":"lagmonitor.late","value":{"boolValue":true}}"#)
    )

    /// Elastic Common Schema 8, nested; data for which it has no field is in an object `lagmonitor`.
    public static let ecs = RecordFormat("ecs", ECSLayout(), LateField(#"{"@timestamp":"#, "}}\n"))

    /// A Sentry event, for the `event` item of an envelope.
    public static let sentry = RecordFormat("sentry", SentryLayout(), LateField(#"{"event_id":"#, "}}}\n"))

    /// All formats.
    package static let all = [native, otlp, ecs, sentry]
}
