/// A time that is a stall, or may become one.
package struct OngoingInterval: Sendable, Equatable {
    /// When it began.
    package private(set) var since: UInt64
    /// When it may have begun at the earliest; `since` where that is exact.
    package private(set) var earliest: UInt64
    /// When it was last seen to go on: its end is not before that.
    package private(set) var seen: UInt64
    /// Bounds of the time in it in which the process could not run.
    package private(set) var pausedAtLeast: UInt64 = 0
    package private(set) var pausedAtMost: UInt64 = 0

    /// - Parameter earliest: nil where the beginning is exact.
    package init(since: UInt64, earliest: UInt64? = nil, seen: UInt64) {
        self.since = since
        self.earliest = min(earliest ?? since, since)
        self.seen = seen
    }

    /// The same for what is seen for the first time, perhaps after a process pause in which it may have begun.
    init(since: UInt64, earliest: UInt64? = nil, at now: UInt64, _ processPause: ProcessPause?) {
        self.init(since: since, earliest: earliest, seen: now)
        add(processPause, until: now)
    }

    mutating func extend(at now: UInt64, _ processPause: ProcessPause?) {
        add(processPause, until: now)
        seen = max(seen, now)
    }

    /// Nothing before `ignoreBefore` counts.
    mutating func begin(notBefore ignoreBefore: UInt64) {
        earliest = max(earliest, ignoreBefore)
        guard ignoreBefore > since else { return }
        since = ignoreBefore
        pausedAtLeast = 0
        pausedAtMost = 0
    }

    /// A process pause before `until`, after which it is not known yet whether the span goes on.
    mutating func add(_ processPause: ProcessPause?, until: UInt64) {
        guard let share = processPause?.share(from: since, until: until) else { return }
        pausedAtLeast = pausedAtLeast.saturatingSum(share.atLeast)
        pausedAtMost = pausedAtMost.saturatingSum(share.atMost)
    }

    /// What of it lies before another one, which began within it: the processPauses since then are not its own.
    func part(before later: OngoingInterval) -> OngoingInterval {
        var part = self
        part.pausedAtLeast = pausedAtLeast.saturatingDifference(later.pausedAtMost)
        part.pausedAtMost = pausedAtMost.saturatingDifference(later.pausedAtLeast)
        return part
    }

    /// How long it has lasted for certain, without the time in which the process could not run.
    func length(at now: UInt64) -> UInt64 {
        now.saturatingDifference(since).saturatingDifference(pausedAtMost)
    }

    /// When it will have lasted so long.
    func time(ofLength length: UInt64) -> UInt64 { since.saturatingSum(pausedAtMost).saturatingSum(length) }
}

/// A span that is over, or is told while it lasts.
package struct StallInterval: Sendable, Equatable {
    package let since: UInt64
    /// When it ended.
    package let until: UInt64
    /// Bounds of its length without processPauses, and the middle of what the processPauses leave open, in nanoseconds.
    package let length: UInt64
    package let lengthAtLeast: UInt64
    package let lengthAtMost: UInt64

    /// - Parameters:
    ///   - until: when it ended for certain.
    ///   - latest: when it may have ended at the latest; nil where `until` is exact.
    ///   - processPause: one that came to light with its end.
    package init(_ span: OngoingInterval, until: UInt64, latest: UInt64? = nil, _ processPause: ProcessPause? = nil) {
        var span = span
        let until = max(until, span.since)
        span.extend(at: until, processPause)
        since = span.since
        self.until = until
        let elapsed = until - since
        lengthAtLeast = elapsed.saturatingDifference(span.pausedAtMost)
        let most = elapsed.saturatingDifference(span.pausedAtLeast)
        length = lengthAtLeast + (most - lengthAtLeast) / 2
        lengthAtMost = most.saturatingSum(since - span.earliest).saturatingSum(max(latest ?? until, until) - until)
    }

    /// Time that lies between beginning and end and is not in the length.
    package var excluded: UInt64 { until - since - length }
}
