internal import LagModel
internal import LagReader

/// What was read and what was left out, in words.
struct ReportSummary {
    let report: Report

    /// The names and values of the figures at the top.
    var tiles: [(name: String, value: String)] {
        let all = report.all
        return [
            ("Stalls", HTMLText.number(all.count)), ("Stalled", DurationText.text(nanoseconds: all.weight)),
            ("Worst", all.count == 0 ? "–" : DurationText.text(nanoseconds: all.worstNanoseconds)),
            ("p99", all.count == 0 ? "–" : DurationText.text(nanoseconds: all.nanoseconds(atShare: 0.99))),
            ("p50", all.count == 0 ? "–" : DurationText.text(nanoseconds: all.nanoseconds(atShare: 0.5))),
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
        return "\(times) · \(DurationText.text(nanoseconds: length))"
    }

    /// What was read, each with its number.
    var read: [String] {
        let tally = report.tally
        let names = report.inputs.prefix(8).map { HTMLText.short($0) }.joined(separator: ", ")
        let more = report.inputs.count > 8 ? " and \(report.inputs.count - 8) more" : ""
        let items = [
            item("Lines", tally.lines, "Of \(names.isEmpty ? "nothing" : names)\(more)."),
            item("Duplicate lines of a stall", tally.repeated, "It counts once."),
            item(
                "Stalls without an end",
                report.all.openCount,
                "They are still in progress, or their end line was lost; they count with their begin line."
            ),
            item("Abandoned stalls", report.abandonedCount, "The process ended during them."),
        ]
        return items.compactMap { $0 }
    }

    /// What was not counted or is not shown, each with its number.
    var leftOut: [String] {
        let (tally, all) = (report.tally, report.all)
        let marks = HTMLText.number(report.marks.count)
        let lost = [
            item("Damaged lines", tally.damaged, "Not JSON, or too long."),
            item("Lines without required fields", tally.incomplete, "lagmond check shows which."),
            item("Lines that are not the monitor’s", tally.foreign),
            item("Lines in other formats than native", tally.otherFormatCount),
            item("Stalls that began outside the given times", tally.outside),
            item("Lines lost before they were written", report.lostLines, "As the monitors reported."),
            item(
                "Stalls suppressed by a limit",
                all.heldBackCount,
                "Only the totals include them (\(DurationText.text(nanoseconds: all.heldBackNanoseconds)))."
            ),
        ]
        let hidden = [
            item("Groups summarized as the last one", UInt64(report.otherGroupCount)),
            item(
                "Stalls without details",
                all.count - min(all.count, UInt64(report.details.count)),
                "The longest stalls, and the longest of each group, have details."
            ),
            item("Stalls whose line is too long for the details, or did not fit", UInt64(report.withoutDetails)),
            item(
                "Stalls without a bar in the timeline",
                all.count - min(all.count, UInt64(report.marks.count)),
                "The \(marks) longest have one; the shading includes all."
            ),
            item("Incidents that are not listed", UInt64(report.otherIncidentCount), "Those with the most stalled time are."),
            item("Stalls whose incident did not fit", report.withoutIncident),
            item("Loops that share the timeline’s last lane", UInt64(report.laneCount - report.lanes.count)),
            item(
                "Light branches left out of the call graph",
                UInt64(report.groups.reduce(0) { $0 + $1.tree.prunedCount }),
                "Their time is shown as “left out”."
            ),
            item("Stacks truncated because the call tree was full", report.shortenedStacks),
        ]
        return lost.compactMap { $0 } + report.inputErrors.map { "\(HTMLText.short($0))." } + hidden.compactMap { $0 }
    }

    /// Nil if the count is 0.
    private func item(_ name: String, _ count: UInt64, _ text: String = "") -> String? {
        count == 0 ? nil : "\(name): <b>\(HTMLText.number(count))</b>.\(text.isEmpty ? "" : " " + text)"
    }
}
