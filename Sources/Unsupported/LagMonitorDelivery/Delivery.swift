public import LagOutput

public enum Delivery {
    /// No effect: settings may name all formats and destinations, but no lines are written.
    public static func enable() {}
}

extension RecordFormat {
    public static let otlp = RecordFormat("otlp", nil, Self.native.lateField)
    public static let ecs = RecordFormat("ecs", nil, Self.native.lateField)
    public static let sentry = RecordFormat("sentry", nil, Self.native.lateField)
}
