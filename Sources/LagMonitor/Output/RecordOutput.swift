/// Encoder and sink together, with counts of what was lost on the way. For the reporter thread only.
///
/// A line that the sink does not accept is counted by reason. Before the next line, it first tries to report this in one `event`
/// `dropped` line per reason. If the sink does not accept that either, the new line counts as lost, too. So a reader sees the gap
/// where it is, and no count is lost.
package struct RecordOutput: Sendable {
    package let sink: any RecordSink
    private var encoder: RecordEncoder
    /// ``unannounced`` by reason, without a dictionary's allocations.
    private var pending = Notice.DropReason.allCases.map { (reason: $0, count: 0 as UInt64) }
    /// When a loss is reported that no later line has reported.
    private var retry = RetryDelay(firstNanoseconds: 1_000_000_000, longestNanoseconds: 30_000_000_000)
    /// Records lost so far, announced or not.
    package private(set) var droppedTotal: UInt64 = 0
    /// How many of these the sink had accepted before.
    package private(set) var abandonedTotal: UInt64 = 0

    package init(encoder: RecordEncoder, sink: any RecordSink) {
        self.encoder = encoder
        self.sink = sink
    }

    package var unannounced: UInt64 { pending.reduce(0) { $0 &+ $1.count } }

    /// Counts records that were lost before they reached this output. Nothing is written yet.
    package mutating func countDropped(_ count: UInt64, reason: Notice.DropReason) {
        droppedTotal &+= count
        addPending(count, reason)
    }

    private mutating func addPending(_ count: UInt64, _ reason: Notice.DropReason) {
        for index in pending.indices where pending[index].reason == reason { pending[index].count &+= count }
    }

    /// Writes a record, after the announcement of earlier losses. `dropped_total` is filled in here.
    /// - Parameter now: for the time of an announcement.
    /// - Throws: the sink's error; the record is then lost and counted.
    package mutating func write(_ record: StallRecord, now: OutputTime) throws(SinkError) {
        do throws(SinkError) {
            try announce(now: now)
            var record = record
            record.droppedTotal = droppedTotal
            let sink = sink
            let facts = LineFacts(record)
            try encoder.encode(record) { line throws(SinkError) in try sink.write(line, about: facts) }
        } catch {
            countDropped(1, reason: error.reason == .tooSlow ? .sinkSlow : .sinkFailed)
            collectAbandoned()
            // Many losses in a moment are one failure.
            if retry.allows(at: now.monotonicNanoseconds) { retry.recordFailure(at: now.monotonicNanoseconds) }
            throw error
        }
        collectAbandoned()
        if sink.unsettledLines == 0 { retry.reset() }
    }

    /// Writes what another process left of a stall during which it died, as that process would have written it.
    /// - Returns: false if it left no line in this output's format: then nothing is written.
    /// - Throws: the sink's error. Nothing is counted: the caller, which still has the stall, may try again.
    package mutating func write(_ stall: UnfinishedStall, now: OutputTime) throws(SinkError) -> Bool {
        guard let line = stall.lines[encoder.format] else { return false }
        try announce(now: now)
        let sink = sink
        let outcome = line.withUnsafeBytes { bytes -> Result<Void, SinkError> in
            do throws(SinkError) { return .success(try sink.write(bytes, about: stall.facts)) } catch { return .failure(error) }
        }
        try outcome.get()
        return true
    }

    package var format: RecordFormat { encoder.format }

    /// The line that ``write(_:now:)`` would write, except for losses that were not reported yet.
    package mutating func line(of record: StallRecord) -> [UInt8] {
        var record = record
        record.droppedTotal = droppedTotal
        return encoder.encode(record) { Array($0) }
    }

    /// Writes a notice, after the announcement of what was lost before it.
    /// - Throws: the sink's error. Then the line is gone, and does not count as a lost record; what a limit held back is part of
    ///   `suppressed_total` in every later line.
    package mutating func write(_ notice: Notice) throws(SinkError) {
        try announce(now: notice.time)
        try emit(notice)
    }

    private mutating func emit(_ notice: Notice) throws(SinkError) {
        let sink = sink
        let facts = LineFacts(notice)
        try encoder.encode(notice) { line throws(SinkError) in try sink.write(line, about: facts) }
    }

    /// Tries to report what was lost and not reported yet; for the end, and for idle times.
    package mutating func announce(now: OutputTime) throws(SinkError) {
        collectAbandoned()
        for (index, (reason, count)) in pending.enumerated() where count > 0 {
            try emit(.dropped(count, reason, total: droppedTotal, time: now))
            pending[index].count = 0
        }
    }

    /// If it is time, tries again to report what was lost. So a loss is reported when writing works again, even if no further
    /// record comes. The first try is one second after the loss; the delay grows to half a minute.
    ///
    /// As long as the sink may still abandon lines that it accepted, it is queried once a second, and the delay is not reset.
    /// - Returns: the time of the next call (`CLOCK_MONOTONIC`); `.max` when there is nothing to report.
    package mutating func retryAnnouncement(now: OutputTime) -> UInt64 {
        var isUnsettled = sink.unsettledLines > 0
        collectAbandoned()
        if unannounced > 0 {
            guard retry.allows(at: now.monotonicNanoseconds) else { return retry.nextNanoseconds }
            do throws(SinkError) { try announce(now: now) } catch {
                retry.recordFailure(at: now.monotonicNanoseconds)
                return retry.nextNanoseconds
            }
            isUnsettled = sink.unsettledLines > 0
            collectAbandoned()
            if isUnsettled || unannounced > 0 { retry.recordFailure(at: now.monotonicNanoseconds) }
        }
        guard isUnsettled || unannounced > 0 else {
            retry.reset()
            return .max
        }
        return now.monotonicNanoseconds &+ 1_000_000_000
    }

    /// Closes the sink, and counts what it could not finish. For the end.
    package mutating func close() {
        sink.close()
        collectAbandoned()
    }

    private mutating func collectAbandoned() {
        let abandoned = sink.takeAbandonedLines()
        if abandoned > 0 {
            abandonedTotal &+= abandoned
            countDropped(abandoned, reason: .sinkFailed)
        }
        for notice in sink.takeAbandonedNotices() {
            guard case .dropped(let count, let reason, let total) = notice.content else { continue }
            // What was reported once has been part of the total since it was lost. What an earlier process left has not, and was
            // never accepted here.
            if total == 0 { countDropped(count, reason: reason) } else { addPending(count, reason) }
        }
    }
}
