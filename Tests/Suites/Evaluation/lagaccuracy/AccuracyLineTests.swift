import Testing

@testable import lagaccuracy

struct AccuracyLineTests {
    private static let ms: UInt64 = 1_000_000

    private func line(_ condition: Condition, detector: String = "lagmonitor", found: UInt64?) -> AccuracyLine {
        let truth = Truth(
            stallType: .callout,
            label: "cpu in timer",
            isInjected: true,
            begin: 0,
            end: 300 * Self.ms,
            least: 300 * Self.ms,
            most: 300 * Self.ms,
            longest: 300 * Self.ms,
            due: 150 * Self.ms
        )
        let detections = found.map {
            [Detection(stallType: .callout, start: 0, duration: $0 * Self.ms / 1000, detected: 151 * Self.ms)]
        }
        return AccuracyLine(condition: condition, detector: detector, score: Score(truths: [truth], detections: detections ?? []))
    }

    @Test func `the fields of a line have a fixed order`() {
        let start =
            "accuracy calm detector=lagmonitor injected=1 above=1 recall=1.0000 false=0 duration_err_p50_ms=0.500 duration_err_p99_ms=0.500 latency_p99_ms=1.000 "
        #expect(line(.calm, found: 300_500).text.hasPrefix(start))
    }

    @Test func `a missing measurement is written as a dash`() {
        #expect(
            line(.calm, found: nil).text.contains(
                "recall=0.0000 false=0 duration_err_p50_ms=- duration_err_p99_ms=- latency_p99_ms=- "
            )
        )
    }

    @Test func `a target is missed by a missed stall, a false record or a wrong duration`() {
        #expect(line(.calm, found: 301_000).missedTargets.isEmpty)
        #expect(line(.calm, found: 301_001).missedTargets == ["duration_err_p99_ms <= 1"])
        #expect(line(.starved, found: 350_000).missedTargets.isEmpty)
        #expect(line(.stopped, found: nil).missedTargets == ["recall >= 1"])
        #expect(line(.calm, detector: "semaphore_watchdog", found: nil).missedTargets.isEmpty)
    }

    @Test func `the table has one row per line`() {
        let table = AccuracyTable(lines: [line(.calm, found: 300_500)], sentence: "Made here.").text
        #expect(table.contains("| calm | `lagmonitor` | 1 of 1 | 1.0000 | 1.0000 / - | 0 | 0 | 0.500 / 0.500 ms | 1.000 ms |"))
        #expect(table.hasSuffix("\n\nMade here.\n"))
    }
}
