/// The detection settings of the field, by name.
public enum DetectionPreset: String, CaseIterable, Sendable {
    /// 50 ms × 3: the default.
    case standard
    /// 80 ms × 3.
    case relaxed
    /// 50 ms × 5, and after a reported stall further ones are only counted for 5 s.
    case restoring
}
