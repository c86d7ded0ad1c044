public import LagOutput

public enum Delivery {
    /// Enables nothing: settings may name all formats and destinations, and none of them gets a line.
    public static func enable() {}
}

extension RecordFormat {
    public static let otlp = RecordFormat("otlp", nil, Self.native.lateMark)
    public static let ecs = RecordFormat("ecs", nil, Self.native.lateMark)
    public static let sentry = RecordFormat("sentry", nil, Self.native.lateMark)
}
