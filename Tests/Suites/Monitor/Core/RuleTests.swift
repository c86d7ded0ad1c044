import Dispatch
import LagMonitor
import TestSupport
import Testing

extension MonitorTests {
    /// The rules other than callout, each on a real loop.
    @Suite struct RuleTests {
        private func line(_ watched: Watched) throws -> Line {
            #expect(eventually { watched.sink.records.count == 1 })
            #expect(!eventually(seconds: 1) { watched.sink.records.count > 1 })
            return try #require(watched.sink.records.first)
        }

        /// Keeps the loop busy for that long, in blocks of 2 ms, without a rest.
        private func starve(_ thread: KeepAliveThread, milliseconds: Int) -> Injected {
            let loop = thread.loop
            return Injected(on: thread) { @Sendable in
                let end = MonotonicTime.now + .milliseconds(milliseconds)
                loop.perform { Self.link(loop, until: end) }
            }
        }

        private static func link(_ loop: ObservedRunLoop, until end: MonotonicTime) {
            spinForTheTest(milliseconds: 2)
            if MonotonicTime.now < end { loop.perform { link(loop, until: end) } }
        }

        @Test func `many short callouts are starvation and not a callout stall`() throws {
            var configuration = MonitorTests.configuration
            configuration.rules.starvationThreshold = .milliseconds(400)
            let watched = try Watched(configuration)
            defer { watched.end() }
            let injected = starve(watched.thread, milliseconds: 800)
            let line = try line(watched)
            #expect(line.string("kind") == "starvation" && line.strings("found_by") == ["starvation"])
            #expect(line.number("threshold_ms") == 400)
            #expect(line.number("duration_ms") >= 780, "\(line.number("duration_ms"))")
            #expect(line.number("mono_us") * 1000 <= Double(injected.begin))
        }

        @Test func `a loop that rests between callbacks is not starved`() throws {
            var configuration = MonitorTests.configuration
            configuration.rules.starvationThreshold = .milliseconds(200)
            let watched = try Watched(configuration)
            defer { watched.end() }
            for _ in 0..<100 {
                let injected = Injected(on: watched.thread) { spinForTheTest(milliseconds: 4) }
                #expect(eventually { injected.isOver && watched.thread.loop.isWaiting })
            }
            #expect(watched.monitor.statistics.withoutPauses == StallMonitorStatistics())
        }

        @Test func `a callout and a ping are one record that names both`() throws {
            var configuration = MonitorTests.configuration
            configuration.rules.ping = .init(interval: .milliseconds(40))
            let watched = try Watched(configuration)
            defer { watched.end() }
            let injected = watched.stall(milliseconds: 500)
            let rest = MonotonicTime.now.nanoseconds
            let line = try line(watched)
            #expect(line.string("kind") == "callout" && line.strings("found_by") == ["callout", "ping"])
            // The callout's times, which are exact.
            #expect(injected.fits(line.number("duration_ms"), restingAt: rest), "\(injected.nanoseconds): \(line.text)")
            #expect(line.number("duration_max_ms").isNaN)
        }

        @Test func `a stall of a queue is found by its unanswered ping`() throws {
            let watched = try Watched()
            defer { watched.end() }
            let queue = DispatchQueue(label: "work")
            var rules = StallRules.empty
            rules.ping = .init(interval: .milliseconds(40))
            try watched.monitor.watch(PingedQueue(queue, named: "work"), rules: rules)
            #expect(eventually { threadNames().contains("lag-pings") })
            // Some pings are answered first, so that a last answer exists.
            blockForTheTest(milliseconds: 400)
            let ranOn = Atomically()
            queue.async {
                ranOn.set(gettid())
                blockForTheTest(milliseconds: 500)
            }
            for _ in 0..<7 { queue.async {} }
            let line = try line(watched)
            #expect(line.integer("jobs_waiting") == 7, "\(line.text)")
            #expect(line.text.contains("\"pending\":true") && line.string("message").contains(" while 7 jobs waited"))
            #expect(line.string("kind") == "ping" && line.string("loop") == "work")
            // The thread that ran it, and its stack.
            #expect(line.string("capture") == "passive" && line.integer("thread_id") == Int(ranOn.value))
            #expect(line.string("cause") == "syscall" && line.string("culprit").hasPrefix("LagMonitorTests.blockForTheTest"))
            // It began between the last answer and the unanswered ping: in the middle, but no more than half an interval before.
            let (least, most) = (line.number("duration_min_ms"), line.number("duration_max_ms"))
            #expect(abs(line.number("duration_ms") - (least + min(most - least, 40) / 2)) < 0.01, "\(line.text)")
            #expect(most >= 500 && least >= 120)
        }

        @Test func `a ping while waiting wakes an idle loop and reports no stall`() throws {
            let watched = try Watched()
            defer { watched.end() }
            var rules = StallRules.empty
            // A threshold of 300 ms: a busy machine may wake a loop late.
            rules.pingWhileWaiting = .init(interval: .milliseconds(100))
            let idle = try KeepAliveThread(name: "idle")
            defer {
                idle.stop()
                idle.join()
            }
            let before = idle.loop.beacon.sequence
            try watched.monitor.watch(idle.loop, rules: rules)
            #expect(eventually { idle.loop.beacon.sequence > before + 20 })
            #expect(watched.monitor.statistics.stalls == 0)
        }

        @Test func `missed ticks are reported, and the tick rate is available`() throws {
            var configuration = MonitorTests.configuration
            configuration.rules = .empty
            configuration.rules.frame = .init(rate: 100, missed: 20)
            let watched = try Watched(configuration)
            defer { watched.end() }
            #expect(eventually { watched.monitor.frameRate(of: watched.thread.loop) != nil })
            let rate = watched.monitor.frameRate(of: watched.thread.loop) ?? 0
            #expect(rate > 10 && rate < 110, "\(rate)")
            watched.stall(milliseconds: 600)
            let line = try line(watched)
            #expect(line.string("kind") == "frame" && line.names("blockForTheTest"), "\(line.symbols)")
            #expect(line.number("threshold_ms") == 200)
            watched.monitor.unwatch(watched.thread.loop)
            #expect(eventually { watched.monitor.frameRate(of: watched.thread.loop) == nil })
        }

        @Test func `the same function on top of successive samples is reported`() throws {
            var configuration = MonitorTests.configuration
            configuration.rules = .empty
            configuration.rules.sampling = .init(interval: .milliseconds(20), samples: 5, functions: 2)
            let watched = try Watched(configuration)
            defer { watched.end() }
            let injected = watched.stall(milliseconds: 600)
            #expect(eventually { watched.sink.records.count == 1 })
            let seen = MonotonicTime.now.nanoseconds
            let line = try line(watched)
            #expect(line.string("kind") == "sample" && line.names("blockForTheTest"), "\(line.symbols)")
            // Certain from the first sample to the last, both in the callback; at most to the poll that found the loop at rest,
            // which may have read the clock slightly before the loop's state.
            let (least, most) = (line.number("duration_min_ms") * 1e6, line.number("duration_max_ms") * 1e6)
            #expect(least >= 80_000_000, "\(line.text)")
            #expect(least <= Double(injected.end - injected.submitted), "\(injected.nanoseconds): \(line.text)")
            let latest = line.number("mono_us") * 1000 + most
            #expect((Double(injected.end) - 20_000_000...Double(seen)).contains(latest), "\(injected.end): \(line.text)")
        }

        @Test func `a rule that a loop cannot support is refused`() throws {
            let watched = try Watched()
            defer { watched.end() }
            final class Silent: ObservableLoop {
                let beacon = ActivityBeacon()
                let thread = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0)
                let name = "silent"
            }
            for (rule, change) in [
                ("ping", { $0.ping = .init() }), ("ping", { $0.pingWhileWaiting = .init() }), ("frame", { $0.frame = .init() }),
                ("sampling", { $0.sampling = .init() }),
            ] as [(String, (inout StallRules) -> Void)] {
                var rules = StallRules()
                change(&rules)
                do {
                    try watched.monitor.watch(Silent(), rules: rules)
                    Issue.record("\(rule) was accepted")
                } catch {
                    #expect("\(error)".contains(rule), "\(error)")
                }
            }
            // With the default rules, a queue would be watched and no stall found.
            #expect(throws: StallMonitorError.self) { try watched.monitor.watch(PingedQueue(DispatchQueue(label: "silent"))) }
            #expect(throws: StallMonitorError.invalidConfiguration(key: "rules", value: "none", allowed: "at least one rule")) {
                try watched.monitor.watch(Silent(), rules: .empty)
            }
        }
    }
}
