import Dispatch
import LagMonitor
import TestSupport
import Testing

extension MonitorTests {
    /// The rules other than callout, each on a real loop.
    @Suite struct RuleTests {
        private func line(_ watched: Watched) throws -> Line {
            #expect(eventually { watched.sink.records.count == 1 })
            #expect(!eventually(milliseconds: 400) { watched.sink.records.count > 1 })
            return try #require(watched.sink.records.first)
        }

        /// Keeps the loop busy for that long, and until the stall is found, in blocks of 2 ms, without a rest.
        private func starve(_ watched: Watched, milliseconds: Int) -> Injected {
            let (loop, search) = (watched.thread.loop, StallSearch(watched.monitor))
            return Injected(on: watched.thread) { @Sendable in
                let end = MonotonicTime.now + .milliseconds(milliseconds)
                loop.perform { Self.link(loop, until: end, search) }
            }
        }

        private static func link(_ loop: ObservedRunLoop, until end: MonotonicTime, _ search: StallSearch) {
            spinForTheTest(milliseconds: 2)
            if MonotonicTime.now < end || !search.isOver { loop.perform { link(loop, until: end, search) } }
        }

        @Test func `many short callouts are starvation and not a callout stall`() throws {
            var configuration = MonitorTests.configuration
            configuration.rules.starvationThreshold = .milliseconds(400)
            let watched = try Watched(configuration)
            defer { watched.end() }
            let injected = starve(watched, milliseconds: 800)
            let line = try line(watched)
            #expect(line.string("kind") == "starvation" && line.strings("found_by") == ["starvation"])
            #expect(line.number("threshold_ms") == 400)
            #expect(line.number("duration_ms") >= 780, "\(line.number("duration_ms"))")
            #expect(line.number("mono_us") * 1000 <= Double(injected.begin))
        }

        @Test func `a loop that rests between callbacks is not starved`() throws {
            var configuration = MonitorTests.configuration
            configuration.rules.starvationThreshold = .milliseconds(200)
            let threshold = try #require(configuration.rules.callout).threshold
            let watched = try Watched(configuration)
            defer { watched.end() }
            // On a busy machine, a callback may wait for a processor as long as the threshold of callouts: that is no starvation.
            var late: UInt64 = 0
            for _ in 0..<100 {
                let injected = Injected(on: watched.thread) { spinForTheTest(milliseconds: 4) }
                #expect(eventually { injected.isOver && watched.thread.loop.isWaiting })
                if .nanoseconds(MonotonicTime.now.nanoseconds - injected.submitted) >= threshold { late += 1 }
            }
            if late == 0 { #expect(watched.monitor.statistics.withoutPauses == StallMonitorStatistics()) }
            let found = watched.monitor.statistics.stalls
            #expect(found <= late, "\(watched.sink.lines)")
            #expect(eventually { watched.sink.records.count >= found })
            #expect(watched.sink.records.allSatisfy { $0.string("kind") == "callout" }, "\(watched.sink.lines)")
        }

        @Test func `a callout and a ping are one record that names both`() throws {
            var configuration = MonitorTests.configuration
            configuration.rules.ping = .init(interval: .milliseconds(40))
            let watched = try Watched(configuration)
            defer { watched.end() }
            // A watchdog that gets no processor until the stall is over finds it by its callout alone.
            var attempts = 0
            for attempt in Attempts("a stall found by callout and ping") {
                attempts = attempt
                let stall = watched.stall(milliseconds: 500)
                let rest = MonotonicTime.now.nanoseconds
                #expect(eventually { watched.sink.records.count == attempt })
                let line = try #require(watched.sink.records.last)
                #expect(line.string("kind") == "callout", "\(line.text)")
                // The callout's times, which are exact.
                #expect(stall.fits(line.number("duration_ms"), restingAt: rest), "\(stall.nanoseconds): \(line.text)")
                #expect(line.number("duration_max_ms").isNaN)
                if line.strings("found_by") == ["callout", "ping"] { break }
            }
            #expect(!eventually(milliseconds: 400) { watched.sink.records.count > attempts })
            #expect(watched.sink.records.last?.strings("found_by") == ["callout", "ping"], "\(watched.sink.lines)")
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
            let (ranOn, search) = (Atomically(), StallSearch(watched.monitor))
            queue.async {
                ranOn.set(gettid())
                repeat { blockForTheTest(milliseconds: 500) } while !search.isOver
            }
            for _ in 0..<7 { queue.async {} }
            let line = try line(watched)
            #expect(line.integer("jobs_waiting") == 7, "\(line.text)")
            #expect(line.number("pending_ms") > 0 && line.number("pending_ms") <= line.number("duration_ms"), "\(line.text)")
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
            watched.stallUntilFound(milliseconds: 600)
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
            let injected = watched.stallUntilFound(milliseconds: 600)
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
