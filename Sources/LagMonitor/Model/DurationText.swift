/// A human-readable duration: three significant digits below a minute (`351 ms`, `12.3 s`), two whole units above it
/// (`1 min 47 s`, `3 h 12 min`, `2 d 4 h`). Rounded, without a locale. Programs read the numbers of the JSON line instead.
package enum DurationText {
    private static let second: UInt64 = 1_000_000_000
    private static let minute = 60 * second

    package static func text(nanoseconds: UInt64) -> String {
        // By the rounded value: 999.6 ms is a second, 59.96 s a minute.
        if nanoseconds < 999_500_000 { return threeDigits(nanoseconds, of: 1_000_000) + " ms" }
        if nanoseconds < 59_950_000_000 { return threeDigits(nanoseconds, of: second) + " s" }
        let seconds = rounded(nanoseconds, to: second)
        if seconds < 3600 { return pair(seconds, 60, "min", "s") }
        let minutes = rounded(nanoseconds, to: minute)
        if minutes < 24 * 60 { return pair(minutes, 60, "h", "min") }
        return pair(rounded(nanoseconds, to: 60 * minute), 24, "d", "h")
    }

    package static func text(_ duration: Duration) -> String { text(nanoseconds: duration.clampedNanoseconds) }

    /// As many decimals as three digits allow, without zeros at the end.
    private static func threeDigits(_ nanoseconds: UInt64, of unit: UInt64) -> String {
        var (decimals, step) = (3, unit / 1000)
        while decimals > 0, rounded(nanoseconds, to: step) >= 1000 { (decimals, step) = (decimals - 1, step * 10) }
        let value = rounded(nanoseconds, to: step)
        let scale = unit / step
        guard decimals > 0, value % scale > 0 else { return "\(value / scale)" }
        var fraction = String(value % scale + scale).dropFirst()
        while fraction.last == "0" { fraction.removeLast() }
        return "\(value / scale).\(fraction)"
    }

    private static func pair(_ value: UInt64, _ size: UInt64, _ large: String, _ small: String) -> String {
        "\(value / size) \(large)" + (value % size > 0 ? " \(value % size) \(small)" : "")
    }

    /// Rounds half up; nothing overflows.
    private static func rounded(_ nanoseconds: UInt64, to unit: UInt64) -> UInt64 {
        nanoseconds / unit + (nanoseconds % unit >= unit - unit / 2 ? 1 : 0)
    }
}
