internal import Testing

@testable internal import LagMonitor
@testable internal import LagRemote
@testable internal import lagmond

struct WatchPartsTests {
    @Test func `the liveness probe asks every thread`() {
        let probe = LivenessProbe()
        let first = probe.request()
        #expect(!probe.isAnswered(first) && probe.present == first)
        probe.answer(first, by: .manager)
        #expect(!probe.isAnswered(first))
        probe.answer(first, by: .relay)
        #expect(probe.isAnswered(first))
        // An answer to an older question is none to this one.
        let second = probe.request()
        probe.answer(first, by: .manager)
        probe.answer(second, by: .relay)
        #expect(!probe.isAnswered(second))
    }

    @Test func `there are only so many series`() {
        let counts = StallCounts(places: [])
        for number in 0..<1000 {
            counts.register(.init(target: number % 2 == 0 ? "a" : "b", process: "p\(number)", loop: "main"))
        }
        let places = counts.snapshot.loops.keys
        #expect(places.count <= StallCounts.maximumPlaces + 2)
        #expect(places.contains(.other(target: "a")) && places.contains(.other(target: "b")))
    }

    @Test func `a threads number is no series`() {
        let log = LineDispatcher(live: nil, target: "t")
        #expect(log.place(process: "p", loop: "thread 4711") == .init(target: "t", process: "p", loop: "thread"))
        let labels = ["thread pool": "thread pool", "conn-17": "conn", "NIO-ELT-0-#3": "NIO-ELT-0", "42": "thread"]
        for (name, label) in labels {
            #expect(log.place(process: "p", loop: name).loop == label)
        }
    }

    @Test func `targets are labelled where there are several`() {
        let status = TargetStatus(name: "a\"b", phase: "running", pid: 7, restarts: 3, signals: 2)
        let page = MetricsPage(
            counts: .init(),
            lags: [.init(target: "a\"b", process: "p", loop: "main"): 1_500_000_000],
            dropped: 0,
            targets: [status]
        )
        #expect(page.text.contains(#"lagmonitor_loop_lag_seconds{target="a\"b",process="p",loop="main"} 1.5"#))
        #expect(page.text.contains(#"lagmonitor_target_restarts_total{target="a\"b"} 3"#))
        #expect(page.text.contains(#"lagmonitor_hang_signals_total{target="a\"b"} 2"#))
    }
}
