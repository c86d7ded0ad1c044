extension RecordLimits {
    /// The limits that the settings choose; the library's defaults for what they do not set.
    init(_ reader: SettingsReader) {
        self.init()
        perFingerprint = reader.rate(.limitBurst, .limitInterval, else: perFingerprint)
        overall = reader.rate(.limitAllBurst, .limitAllInterval, else: overall)
        if let quiet = reader.milliseconds(for: .limitQuiet) { self.quiet = quiet }
    }
}

extension RecurrenceRule {
    /// The rule that the settings choose; nil when they turn it off.
    init?(_ reader: SettingsReader) {
        self.init()
        if let count = reader.int(for: .recurringCount) { self.count = count }
        if let seconds = reader.int(for: .recurringWindow) { window = .seconds(seconds) }
        if count == 0 { return nil }
    }
}

extension SettingsReader {
    /// Nil if the settings turn the limit off, by a burst of zero.
    fileprivate func rate(_ burst: SettingKey, _ interval: SettingKey, else standard: RecordLimits.Rate?) -> RecordLimits.Rate? {
        guard var rate = standard else { return nil }
        if let burst = int(for: burst) { rate.burst = burst }
        if let interval = milliseconds(for: interval) { rate.interval = interval }
        return rate.burst == 0 ? nil : rate
    }
}
