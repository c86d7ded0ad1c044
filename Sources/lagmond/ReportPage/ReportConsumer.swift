internal import LagModel
internal import LagReader

/// The data that was read for a page.
struct ReportAggregate: Sendable {
    var grouping = StallGrouping.Aggregate()
    var parts = ReportParts()

    mutating func add(_ other: ReportAggregate) {
        let groups = grouping.table.add(other.grouping.table)
        grouping.tally.add(other.grouping.tally)
        parts.add(other.parts, groups: groups)
    }
}

/// Collects the data of a page from lines. One thread; consumers of several threads share a deduplicator, and are merged at the
/// end.
struct ReportConsumer: ~Copyable, LineConsumer {
    /// The grouping's observer writes into it while lines are consumed.
    private final class Box {
        var parts = ReportParts()
    }

    private let box: Box
    private var grouping: StallGrouping

    init(times: Range<Int64>, filter: StallFilter = StallFilter(), deduplicator: StallDeduplicator) {
        let box = Box()
        self.box = box
        grouping = StallGrouping(by: .fingerprint, times: times, filter: filter, deduplicator: deduplicator) { line, what in
            box.parts.add(line, what)
        }
    }

    mutating func take(_ line: UnsafeRawBufferPointer) { grouping.take(line) }

    mutating func takeOverlong() { grouping.takeOverlong() }

    /// Adds the stalls without an end line. Call it once, when everything is read.
    mutating func takeOpenLines() { grouping.takeOpenLines() }

    consuming func finish() -> ReportAggregate { ReportAggregate(grouping: grouping.finish(), parts: box.parts) }
}
