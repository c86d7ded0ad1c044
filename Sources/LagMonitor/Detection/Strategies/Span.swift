/// A time that is a stall, or may become one.
package struct Span: Sendable, Equatable {
    /// When it began.
    package private(set) var since: UInt64
    /// When it may have begun at the earliest; `since` where that is exact.
    package private(set) var earliest: UInt64
    /// When it was last seen to go on: its end is not before that.
    package private(set) var seen: UInt64
    /// Bounds of the time in it in which the process could not run.
    package private(set) var blackedOutAtLeast: UInt64 = 0
    package private(set) var blackedOutAtMost: UInt64 = 0

    /// - Parameter earliest: nil where the beginning is exact.
    package init(since: UInt64, earliest: UInt64? = nil, seen: UInt64) {
        self.since = since
        self.earliest = min(earliest ?? since, since)
        self.seen = seen
    }

    /// The same for what is seen for the first time, perhaps after a blackout in which it may have begun.
    init(since: UInt64, earliest: UInt64? = nil, at now: UInt64, _ blackout: Blackout?) {
        self.init(since: since, earliest: earliest, seen: now)
        add(blackout, until: now)
    }

    mutating func goOn(at now: UInt64, _ blackout: Blackout?) {
        add(blackout, until: now)
        seen = max(seen, now)
    }

    /// Nothing before `floor` counts.
    mutating func begin(notBefore floor: UInt64) {
        earliest = max(earliest, floor)
        guard floor > since else { return }
        since = floor
        blackedOutAtLeast = 0
        blackedOutAtMost = 0
    }

    /// A blackout before `until`, after which it is not known yet whether the span goes on.
    mutating func add(_ blackout: Blackout?, until: UInt64) {
        guard let share = blackout?.share(from: since, until: until) else { return }
        blackedOutAtLeast = blackedOutAtLeast.saturatingSum(share.atLeast)
        blackedOutAtMost = blackedOutAtMost.saturatingSum(share.atMost)
    }

    /// What of it lies before another one, which began within it: the blackouts since then are not its own.
    func part(before later: Span) -> Span {
        var part = self
        part.blackedOutAtLeast = blackedOutAtLeast.saturatingDifference(later.blackedOutAtMost)
        part.blackedOutAtMost = blackedOutAtMost.saturatingDifference(later.blackedOutAtLeast)
        return part
    }

    /// How long it has lasted for certain, without the time in which the process could not run.
    func length(at now: UInt64) -> UInt64 {
        now.saturatingDifference(since).saturatingDifference(blackedOutAtMost)
    }

    /// When it will have lasted so long.
    func time(ofLength length: UInt64) -> UInt64 { since.saturatingSum(blackedOutAtMost).saturatingSum(length) }
}

/// A span that is over, or is told while it lasts.
package struct Extent: Sendable, Equatable {
    package let since: UInt64
    /// When it ended.
    package let until: UInt64
    /// Bounds of its length without blackouts, and the middle of what the blackouts leave open, in nanoseconds.
    package let length: UInt64
    package let lengthAtLeast: UInt64
    package let lengthAtMost: UInt64

    /// - Parameters:
    ///   - until: when it ended for certain.
    ///   - latest: when it may have ended at the latest; nil where `until` is exact.
    ///   - blackout: one that came to light with its end.
    package init(_ span: Span, until: UInt64, latest: UInt64? = nil, _ blackout: Blackout? = nil) {
        var span = span
        let until = max(until, span.since)
        span.goOn(at: until, blackout)
        since = span.since
        self.until = until
        let elapsed = until - since
        lengthAtLeast = elapsed.saturatingDifference(span.blackedOutAtMost)
        let most = elapsed.saturatingDifference(span.blackedOutAtLeast)
        length = lengthAtLeast + (most - lengthAtLeast) / 2
        lengthAtMost = most.saturatingSum(since - span.earliest).saturatingSum(max(latest ?? until, until) - until)
    }

    /// Time that lies between beginning and end and is not in the length.
    package var excluded: UInt64 { until - since - length }
}
