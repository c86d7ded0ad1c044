enum SettingBounds {
    /// - Throws: ``StallMonitorError/invalidConfiguration(key:value:allowed:)`` when the value is out of bounds.
    static func check<Value: Comparable>(
        _ key: String,
        _ value: Value,
        _ range: ClosedRange<Value>,
        _ allowed: String
    ) throws(StallMonitorError) {
        guard range.contains(value) else { throw .invalidConfiguration(key: key, value: "\(value)", allowed: allowed) }
    }
}
