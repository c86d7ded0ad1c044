internal import LagActivity
internal import LagModel

/// The time of a stall, or of what may become one: both while it is in progress and when it is over.
///
/// Some beginnings and ends are known only within bounds, and so are the times in it in which the process could not run. Whether
/// it is a stall is decided by its certain duration.
package struct StallInterval: Sendable, Equatable {
    /// When it began.
    package private(set) var since: UInt64
    /// When it may have begun at the earliest; `since` if that is exact.
    package private(set) var earliest: UInt64
    /// When it most likely began, between the two.
    package private(set) var likely: UInt64
    /// When it may have begun at the latest: `since`, except for loops that are sampled (``SampledLoop``), where `since` is the
    /// most likely time according to the kernel's figures.
    package private(set) var latestBegin: UInt64
    /// While it is in progress: when it was last observed; its end is not before that. Afterwards: the certain time of its end.
    package private(set) var until: UInt64
    /// When it may have ended at the latest; `until` if that is exact.
    package private(set) var latest: UInt64
    /// When it most likely ended, between the two.
    package private(set) var likelyEnd: UInt64
    /// The time in it in which the process could not run.
    package private(set) var paused = ProcessPause.Share()
    /// How many turns the loop made in it, as of `until`; nil: not counted.
    package var turns: UInt64?

    /// - Parameters:
    ///   - earliest: nil if the beginning is exact.
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

    /// The same for an interval that is seen for the first time, perhaps after a process pause in which it may have begun.
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

    // MARK: In progress

    mutating func extend(at now: UInt64, _ processPause: ProcessPause?) {
        add(processPause, until: now)
        until = max(until, now)
        latest = until
        likelyEnd = until
    }

    /// For a sampled loop, more may be known about the beginning by now.
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

    /// A process pause before `until`, after which it is not known yet whether the interval continues.
    mutating func add(_ processPause: ProcessPause?, until: UInt64) {
        guard let share = processPause?.share(from: since, until: until) else { return }
        paused = paused + share
    }

    /// How long it has certainly lasted at a time, since `since`, without the time in which the process could not run.
    func length(at now: UInt64) -> UInt64 {
        now.saturatingDifference(since).saturatingDifference(paused.atMost)
    }

    /// When it will have lasted this long.
    func time(ofLength length: UInt64) -> UInt64 { since.saturatingSum(paused.atMost).saturatingSum(length) }

    // MARK: Its end

    /// The same interval when it is over, or is reported while in progress.
    /// - Parameters:
    ///   - until: when it certainly ended.
    ///   - latest: when it may have ended at the latest; nil if `until` is exact.
    ///   - processPause: one that was noticed with its end.
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

    /// The part before a later interval, which began within it: the process pauses since then do not belong to it.
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

    /// The length that decides whether it is a stall.
    var lengthSinceLikely: UInt64 { length(at: until) }

    /// From its most likely beginning to its most likely end, without the most likely length of the process pauses.
    package var length: UInt64 { lengthBetweenEnds.saturatingSum(since - likely).saturatingSum(likelyEnd - until) }

    /// Time between beginning and end that is not in the length.
    package var excluded: UInt64 { until.saturatingDifference(since).saturatingDifference(lengthBetweenEnds) }

    private var lengthBetweenEnds: UInt64 { until.saturatingDifference(since).saturatingDifference(paused.likely) }

    private var mostBetweenEnds: UInt64 { until.saturatingDifference(since).saturatingDifference(paused.atLeast) }
}
