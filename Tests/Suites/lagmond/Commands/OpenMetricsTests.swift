internal import Foundation
internal import LagModel
internal import LagMonitor
internal import LagOutput
internal import Testing

@testable internal import lagmond

/// `/metrics` for a client that asks for OpenMetrics: the same figures, and a trace for each bucket that has one.
struct OpenMetricsTests {
    private static let place = StallCounts.LoopKey(loop: "main")

    private func page(_ format: MetricsFormat) -> String {
        let counts = StallCounts(places: [Self.place])
        for (milliseconds, trace) in [
            (402, "0af7651916cd43dd8448eb211c80319c"), (450, "1af7651916cd43dd8448eb211c80319c"), (470, nil),
            (90_000, "2af7651916cd43dd8448eb211c80319c"),
        ] as [(UInt64, String?)] {
            var record = StallRecord(
                id: StallID(startRealtimeNanoseconds: 1_700_000_000_000_000_000, randomHigh: 5, randomLow: 7),
                startRealtimeNanoseconds: 1_700_000_000_000_000_000,
                startMonotonicNanoseconds: 1,
                durationNanoseconds: milliseconds * 1_000_000,
                thresholdNanoseconds: 1,
                phase: .end,
                kind: .callout,
                loop: "main",
                threadID: 7
            )
            record.cause = .cpu
            (record.traceID, record.spanID) = (trace, trace.map { _ in "b7ad6b7169203331" })
            if let stall = LineFacts(record).stall { counts.count(stall, at: Self.place) }
        }
        return MetricsPage(counts: counts.snapshot, lags: [:], dropped: 0, format: format).text
    }

    private func lines(_ text: String, _ part: String) -> [Substring] { text.split(separator: "\n").filter { $0.contains(part) } }

    @Test func `the last trace of a bucket is its exemplar`() {
        let text = page(.openMetrics)
        let bucket = #"lagmonitor_loop_stall_duration_seconds_bucket{loop="main",cause="cpu",le="#
        #expect(
            lines(text, bucket + "\"0.5\"") == [
                "\(bucket)\"0.5\"} 3 # {trace_id=\"1af7651916cd43dd8448eb211c80319c\",span_id=\"b7ad6b7169203331\"} 0.45 1700000000.45"
            ]
        )
        #expect(lines(text, bucket + "\"1.0\"") == ["\(bucket)\"1.0\"} 3"])
        #expect(lines(text, bucket + "\"+Inf\"").first?.contains("} 4 # {trace_id=\"2af7") == true)
        #expect(lines(text, "# {").count == 2)
    }

    @Test func `the family name of a counter has no suffix and the page ends with EOF`() {
        let text = page(.openMetrics)
        #expect(text.hasSuffix("\n# EOF\n") && lines(text, "# EOF").count == 1)
        #expect(lines(text, "# TYPE lagmonitor_stalled_seconds") == ["# TYPE lagmonitor_stalled_seconds counter"])
        #expect(!lines(text, "lagmonitor_stalled_seconds_total{").isEmpty)
        #expect(lines(text, "_total").allSatisfy { !$0.hasPrefix("#") })
    }

    @Test func `a client that does not ask for OpenMetrics gets the Prometheus format`() {
        let text = page(.prometheus)
        #expect(!text.contains("trace_id") && !text.contains("EOF"))
        #expect(text.contains("# TYPE lagmonitor_stalled_seconds_total counter\n") && text.contains(#"le="1"} 3\#n"#))
    }

    @Test func `the format follows what the client accepts`() {
        func format(_ headers: String...) -> MetricsFormat { MetricsFormat(accepting: headers) }
        let prometheus =
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,"
            + "text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
        #expect(format(prometheus) == .openMetrics)
        #expect(format("application/openmetrics-text") == .openMetrics)
        #expect(format("text/plain", "Application/OpenMetrics-Text ; version=\"1.0.0\"") == .openMetrics)
        for other in [
            "", "*/*", "application/*", "application/openmetrics-text;q=0", "application/openmetrics-text;version=2.0.0",
            "application/openmetrics-text;q=0.3, text/plain;q=0.5", "application/openmetrics-text;q=x", ";,=;q",
            "application/openmetrics-textual",
        ] { #expect(format(other) == .prometheus, "\(other)") }
        #expect(MetricsFormat(accepting: []) == .prometheus)
    }
}
