/// When a recurring stall gets an `event` `recurring` line: a warning before it gets worse.
///
/// It counts the stalls of one fingerprint by their last line, even if a limit holds that line back. One line per fingerprint and
/// window.
public struct RecurrenceRule: Sendable, Equatable {
    /// This many stalls; 1 to 20.
    public var count: Int
    /// Within this time; one second to one day.
    public var window: Duration

    /// Checked by ``StallMonitor/start()``.
    public init(count: Int = 3, window: Duration = .seconds(600)) {
        self.count = count
        self.window = window
    }

    func validate() throws(StallMonitorError) {
        try SettingBounds.check("recurring_count", count, 1...20, "1 to 20")
        try SettingBounds.check("recurring_window_s", window, .seconds(1)...(.seconds(86_400)), "1 s to 1 day")
    }
}
