/// When something happened, as far as known: between two times, and most likely at a third. Nanoseconds, `CLOCK_MONOTONIC`.
package struct TimeBounds: Sendable, Equatable {
    package let earliest: UInt64
    package let likely: UInt64
    package let latest: UInt64

    /// - Parameter likely: is clamped to the range of the other two.
    package init(_ earliest: UInt64, likely: UInt64, _ latest: UInt64) {
        self.earliest = earliest
        self.latest = max(earliest, latest)
        self.likely = min(max(likely, earliest), self.latest)
    }

    package static func exact(_ time: UInt64) -> TimeBounds { TimeBounds(time, likely: time, time) }
}
