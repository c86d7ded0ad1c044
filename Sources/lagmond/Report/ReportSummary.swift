internal import LagReader

/// What was read and what was left out, in words.
struct ReportSummary {
    let report: Report

    /// Name and value of the figures at the top.
    var tiles: [(name: String, value: String)] {
        let all = report.all
        return [
            ("Stalls", HTMLText.number(all.count)), ("Stalled", TopText.duration(all.weight)),
            ("Worst", all.count == 0 ? "–" : TopText.duration(all.worstNanoseconds)),
            ("p99", all.count == 0 ? "–" : TopText.duration(all.nanoseconds(atShare: 0.99))),
            ("p50", all.count == 0 ? "–" : TopText.duration(all.nanoseconds(atShare: 0.5))),
            ("Groups", HTMLText.number(report.groups.count { $0.index != nil } + report.otherGroupCount)),
            ("Hosts", HTMLText.number(report.hostCount)), ("Loops", HTMLText.number(report.laneCount)),
        ]
    }

    /// From the first stall's start to the last one's end.
    var span: String {
        guard report.all.lastTime != .min else { return "Nothing stalled in what was read." }
        let end = max(report.lastEnd, report.all.lastTime)
        let length = UInt64(clamping: end.subtractingReportingOverflow(report.all.firstTime).partialValue)
        let times = "\(HTMLText.time(report.all.firstTime)) to \(HTMLText.time(end)) UTC"
        return "\(times) · \(Self.span(length))"
    }

    /// What was read: whole sentences.
    var read: [String] {
        let tally = report.tally
        let names = report.inputs.prefix(8).map { HTMLText.short($0) }.joined(separator: ", ")
        let more = report.inputs.count > 8 ? " and \(report.inputs.count - 8) more" : ""
        var parts = ["\(HTMLText.number(tally.lines)) lines of \(names.isEmpty ? "nothing" : names)\(more)."]
        if tally.repeated > 0 {
            parts.append("\(HTMLText.number(tally.repeated)) lines told of a stall that another line tells of: it counts once.")
        }
        let open = report.all.openCount
        if open > 0 {
            parts.append(
                "\(HTMLText.number(open)) stalls have no end: they go on, or it was lost. They count with what is known."
            )
        }
        if report.abandonedCount > 0 {
            parts.append("\(HTMLText.number(report.abandonedCount)) stalls were abandoned: the process ended in them.")
        }
        return parts
    }

    /// What was not counted, or is not shown: whole sentences.
    var leftOut: [String] {
        let tally = report.tally
        var parts: [String] = []
        func add(_ count: some BinaryInteger, _ text: String) {
            if count > 0 { parts.append("\(HTMLText.number(count)) \(text)") }
        }
        add(tally.damaged, "lines were damaged (no JSON, or too long) and left out.")
        add(tally.incomplete, "lines lack what a stall must have and were left out; lagmond check tells which.")
        add(tally.foreign, "lines are not the monitor’s and were left out.")
        add(tally.outside, "stalls began outside the times that were asked for.")
        add(report.lostLines, "lines were lost before they were written, as the monitors themselves say.")
        let heldBack = TopText.duration(report.all.heldBackNanoseconds)
        add(report.all.heldBackCount, "stalls were held back by a limit: they are in the totals (\(heldBack)) alone.")
        parts += report.troubles.map { "\(HTMLText.short($0))." }
        add(report.otherGroupCount, "groups are summed up as one, the last.")
        let details = report.all.count - min(report.all.count, UInt64(report.details.count))
        add(details, "stalls have no detail of their own: the longest have one, and the longest of each group.")
        if report.withoutDetails > 0 { add(report.withoutDetails, "of these had no room, or a line that is too long.") }
        let marks = report.all.count - min(report.all.count, UInt64(report.marks.count))
        add(
            marks,
            "stalls are no bar in the timeline: the \(HTMLText.number(report.marks.count)) longest are, the shades are of all."
        )
        add(report.laneCount - report.lanes.count, "loops share the timeline’s last lane.")
        let pruned = report.groups.reduce(0) { $0 + $1.tree.prunedCount }
        add(pruned, "light branches are left out of the call graph; their time stands as “left out” beside what is shown.")
        add(report.shortenedStacks, "stacks were cut where the call tree was full.")
        return parts
    }

    /// A long time in two units.
    private static func span(_ nanoseconds: UInt64) -> String {
        let seconds = nanoseconds / 1_000_000_000
        switch seconds {
        case ..<120: return TopText.duration(nanoseconds)
        case ..<7200: return "\(seconds / 60) min \(seconds % 60) s"
        case ..<172_800: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
        default: return "\(seconds / 86400) d \(seconds / 3600 % 24) h"
        }
    }
}
