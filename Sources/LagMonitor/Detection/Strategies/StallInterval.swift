internal import LagActivity

/// The time of a stall, or of what may become one: while it goes on, and when it is over.
///
/// Of some beginnings and ends only bounds are known, and so are the times in it in which the process could not run. Whether it is a
/// stall is decided by what it lasted for certain.
package struct StallInterval: Sendable, Equatable {
    /// When it began.
    package private(set) var since: UInt64
    /// When it may have begun at the earliest; `since` where that is exact.
    package private(set) var earliest: UInt64
    /// When it most likely began, between the two.
    package private(set) var likely: UInt64
    /// When it may have begun at the latest: `since`, but for loops that are sampled (``SampledLoop``), where `since` is what the kernel's
    /// accounts make most likely.
    package private(set) var latestBegin: UInt64
    /// While it goes on: when it was last observed; its end is not before that. Afterwards: when it ended, for certain.
    package private(set) var until: UInt64
    /// When it may have ended at the latest; `until` where that is exact.
    package private(set) var latest: UInt64
    /// When it most likely ended, between the two.
    package private(set) var likelyEnd: UInt64
    /// The time in it in which the process could not run.
    package private(set) var paused = ProcessPause.Share()
    /// How many turns the loop made in it, as of `until`; nil: they were not counted.
    package var turns: UInt64?

    /// - Parameters:
    ///   - earliest: nil where the beginning is exact.
    ///   - likely: nil: `since`.
    ///   - latestBegin: nil: `since`.
    package init(since: UInt64, earliest: UInt64? = nil, likely: UInt64? = nil, latestBegin: UInt64? = nil, seen: UInt64) {
        self.since = since
        self.earliest = min(earliest ?? since, since)
        self.likely = min(max(likely ?? since, self.earliest), since)
        self.latestBegin = max(latestBegin ?? since, since)
        until = seen
        latest = seen
        likelyEnd = seen
    }

    /// The same for what is seen for the first time, perhaps after a process pause in which it may have begun.
    init(
        since: UInt64,
        earliest: UInt64? = nil,
        likely: UInt64? = nil,
        latestBegin: UInt64? = nil,
        at now: UInt64,
        _ processPause: ProcessPause?
    ) {
        self.init(since: since, earliest: earliest, likely: likely, latestBegin: latestBegin, seen: now)
        add(processPause, until: now)
    }

    // MARK: While it goes on

    mutating func extend(at now: UInt64, _ processPause: ProcessPause?) {
        add(processPause, until: now)
        until = max(until, now)
        latest = until
        likelyEnd = until
    }

    /// Of a sampled loop more may be known of the beginning by now.
    mutating func refine(by stretch: SampledStretch) {
        latestBegin = max(latestBegin, stretch.began.latest)
        if let time = stretch.mayHaveBegun { likely = min(max(time, earliest), since) }
    }

    /// Nothing before `ignoreBefore` counts.
    mutating func begin(notBefore ignoreBefore: UInt64) {
        earliest = max(earliest, ignoreBefore)
        likely = max(likely, ignoreBefore)
        latestBegin = max(latestBegin, ignoreBefore)
        guard ignoreBefore > since else { return }
        since = ignoreBefore
        paused = ProcessPause.Share()
    }

    /// A process pause before `until`, after which it is not known yet whether the interval goes on.
    mutating func add(_ processPause: ProcessPause?, until: UInt64) {
        guard let share = processPause?.share(from: since, until: until) else { return }
        paused = paused + share
    }

    /// How long it has lasted at a time since `since`, for certain without the time in which the process could not run.
    func length(at now: UInt64) -> UInt64 {
        now.saturatingDifference(since).saturatingDifference(paused.atMost)
    }

    /// When it will have lasted so long.
    func time(ofLength length: UInt64) -> UInt64 { since.saturatingSum(paused.atMost).saturatingSum(length) }

    // MARK: Its end

    /// The same interval, over, or reported while it goes on.
    /// - Parameters:
    ///   - until: when it ended for certain.
    ///   - latest: when it may have ended at the latest; nil where `until` is exact.
    ///   - processPause: one that came to light with its end.
    package func ended(at until: UInt64, latest: UInt64? = nil, _ processPause: ProcessPause? = nil) -> StallInterval {
        var ended = self
        ended.until = max(until, since)
        ended.latest = max(latest ?? until, ended.until)
        ended.likelyEnd = ended.until
        ended.add(processPause, until: ended.until)
        return ended
    }

    /// The same for an end that was found by sampling.
    func ended(within bounds: TimeBounds, _ processPause: ProcessPause?) -> StallInterval {
        var ended = ended(at: bounds.earliest, latest: bounds.latest, processPause)
        ended.likelyEnd = min(max(bounds.likely, ended.until), ended.latest)
        return ended
    }

    /// What of it lies before another one, which began within it: the process pauses since then are not its own.
    func part(before later: StallInterval) -> StallInterval {
        var part = self
        part.paused = paused - later.paused
        return part.ended(at: later.since)
    }

    /// Bounds of the length without process pauses, in nanoseconds.
    package var lengthAtLeast: UInt64 { lengthSinceLikely.saturatingDifference(latestBegin - since) }
    package var lengthAtMost: UInt64 {
        mostBetweenEnds.saturatingSum(since - earliest).saturatingSum(latest - until)
    }

    /// What decides whether it is a stall.
    var lengthSinceLikely: UInt64 { length(at: until) }

    /// From when it most likely began to when it most likely ended, without the most likely length of the process pauses.
    package var length: UInt64 { lengthBetweenEnds.saturatingSum(since - likely).saturatingSum(likelyEnd - until) }

    /// Time that lies between beginning and end and is not in the length.
    package var excluded: UInt64 { until.saturatingDifference(since).saturatingDifference(lengthBetweenEnds) }

    private var lengthBetweenEnds: UInt64 { until.saturatingDifference(since).saturatingDifference(paused.likely) }

    private var mostBetweenEnds: UInt64 { until.saturatingDifference(since).saturatingDifference(paused.atLeast) }
}
