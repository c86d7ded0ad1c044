internal import CLagBeacon
package import LagModel

/// How long a write may wait for its reader.
package struct WriteDeadline {
    /// The sink's deadline: this line's time-out.
    let lineNanoseconds: UInt64
    /// The monitor's deadline; another thread may set it during a wait; `.max`: none.
    let limit: SharedDeadline

    package init(timeoutNanoseconds: UInt64, limit: SharedDeadline) {
        lineNanoseconds = Self.now.saturatingSum(timeoutNanoseconds)
        self.limit = limit
    }

    private init(lineNanoseconds: UInt64, limit: SharedDeadline) {
        self.lineNanoseconds = lineNanoseconds
        self.limit = limit
    }

    /// The first of this many equal parts of the remaining time.
    package func share(of parts: Int) -> WriteDeadline {
        let now = Self.now
        let end = min(lineNanoseconds, limit.nanoseconds)
        guard parts > 1, end > now else { return self }
        return WriteDeadline(lineNanoseconds: now + (end - now) / UInt64(parts), limit: limit)
    }

    package var isOver: Bool { Self.now >= min(lineNanoseconds, limit.nanoseconds) }

    /// Waits until it can write. False when the time is up.
    package func waitUntilWritable(_ descriptor: Int32) -> Bool {
        while true {
            let now = Self.now
            let end = min(lineNanoseconds, limit.nanoseconds)
            // In slices, because another thread may have moved the limit forward.
            let left = min(end.saturatingDifference(now), 50_000_000)
            if DescriptorKind.isWritable(descriptor, timeoutMilliseconds: Int32((left + 999_999) / 1_000_000)) { return true }
            if isOver { return false }
        }
    }

    package static var now: UInt64 { clb_now_ns() }
}
