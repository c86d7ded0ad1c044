/// Common detection settings, by name.
public enum DetectionPreset: String, CaseIterable, Sendable {
    /// 50 ms × 3: the default.
    case standard
    /// 80 ms × 3.
    case relaxed
    /// 50 ms × 5; for 5 s after a reported stall, further ones are only counted.
    case restoring
}
