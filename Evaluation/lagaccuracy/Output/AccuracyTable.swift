/// The lines as a table for the README.
struct AccuracyTable: Sendable {
    let lines: [AccuracyLine]
    /// The options and the machine of the run.
    let sentence: String

    var text: String {
        var rows = [
            "| condition | detector | stalls above | recall | callout / starvation | false | of these repeats | duration error p50 / p99 | latency p99 | wakes/s |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        for line in lines {
            let score = line.score
            let p50 = AccuracyLine.milliseconds(Score.percentile(50, of: score.durationErrors))
            let p99 = AccuracyLine.milliseconds(Score.percentile(99, of: score.durationErrors))
            let wakes = line.notes.first { $0.key == "wakes_per_s" }?.value ?? ""
            rows.append(
                "| \(line.condition.rawValue) | `\(line.detector)` | \(score.above) of \(score.injected) | "
                    + "\(AccuracyLine.part(score.recall)) | \(AccuracyLine.part(score.calloutRecall)) / "
                    + "\(AccuracyLine.part(score.starvationRecall)) | \(score.falseCount) | \(score.repeats) | "
                    + "\(p50) / \(p99) ms | \(AccuracyLine.milliseconds(Score.percentile(99, of: score.latencies))) ms | \(wakes) |"
            )
        }
        return rows.joined(separator: "\n") + "\n\n\(sentence)\n"
    }
}
