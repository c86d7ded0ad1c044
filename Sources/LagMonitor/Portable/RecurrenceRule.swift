/// From when on the same stall again and again is worth an `event` `recurring` line: a warning before it gets worse.
///
/// Counted are stalls of one fingerprint by their last line, also when a limit holds that back. One line a fingerprint and window.
public struct RecurrenceRule: Sendable, Equatable {
    /// So many stalls; 1 to 20.
    public var count: Int
    /// Within so long; one second to one day.
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
