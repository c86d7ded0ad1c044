/// How a record or a notice is written. Each is one JSON object a line, within the same limit.
///
/// The product LagMonitorDelivery adds `RecordFormat.otlp`, `.ecs` and `.sentry`.
public struct RecordFormat: Sendable, Hashable, CustomStringConvertible {
    /// As written in the setting `output.format`.
    public let name: String
    /// Writes its lines; nil: the encoder itself does, or its product is not enabled.
    package let layout: (any LineLayout)?
    package let lateField: LateField

    /// Schema `lagmonitor.stall.v1`: with all fields.
    public static let native = RecordFormat("native", nil, LateField(#"{"schema":"#, "}\n"))

    /// The names of all formats that settings may use.
    package static let names = [native.name, "otlp", "ecs", "sentry"]

    package init(_ name: String, _ layout: (any LineLayout)?, _ lateField: LateField) {
        (self.name, self.layout, self.lateField) = (name, layout, lateField)
    }

    public var description: String { name }
    public static func == (left: RecordFormat, right: RecordFormat) -> Bool { left.name == right.name }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
