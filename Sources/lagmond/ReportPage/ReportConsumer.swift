internal import LagModel
internal import LagReader

/// What was read for a page.
struct ReportAggregate: Sendable {
    var grouping = StallGrouping.Aggregate()
    var parts = ReportParts()

    mutating func add(_ other: ReportAggregate) {
        let groups = grouping.table.add(other.grouping.table)
        grouping.tally.add(other.grouping.tally)
        parts.add(other.parts, groups: groups)
    }
}

/// Collects from lines what a page shows. One thread; those of several threads share a deduplicator, and are added up at the end.
struct ReportConsumer: ~Copyable, LineConsumer {
    /// The grouping's observer writes into it while the lines are taken.
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

    /// The stalls whose end has not come. Once, when everything is read.
    mutating func takeOpenLines() { grouping.takeOpenLines() }

    consuming func finish() -> ReportAggregate { ReportAggregate(grouping: grouping.finish(), parts: box.parts) }
}
