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

    /// - Throws: the same if a text is set, and empty or with a zero byte.
    static func check(_ key: String, _ text: String?, _ allowed: String) throws(StallMonitorError) {
        guard let text, text.isEmpty || text.utf8.contains(0) else { return }
        throw .invalidConfiguration(key: key, value: String(reflecting: text), allowed: allowed)
    }
}
