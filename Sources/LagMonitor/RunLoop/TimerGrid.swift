internal import LagModel

/// The grid on which a repeating timer fires: its first fire point plus whole multiples of the interval. Pure.
enum TimerGrid {
    /// The first point of the grid after `now`; never the point that has just been served.
    ///
    /// Points missed while the loop was busy are skipped, and the later ones stay on the grid: with a point at 12.95 s,
    /// an interval of 1 s and a loop busy until 24.10 s, the next points are 24.95 s, 25.95 s…
    /// - Parameters:
    ///   - served: the point for which the timer has just fired, in nanoseconds.
    ///   - interval: in nanoseconds, at least 1.
    ///   - now: in nanoseconds.
    /// - Returns: nanoseconds; `UInt64.max` if it is beyond the clock's range.
    static func next(afterServing served: UInt64, interval: UInt64, now: UInt64) -> UInt64 {
        let missed = now > served ? (now - served) / interval : 0
        return served.saturatingSum(interval.saturatingProduct(missed + 1))
    }
}
