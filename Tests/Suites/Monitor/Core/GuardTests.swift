import Dispatch
import LagMonitor
import Synchronization
import TestSupport
import Testing

extension MonitorTests {
    /// What is kept from becoming a stall, on real loops.
    @Suite struct GuardTests {
        /// Whether nothing before that time is in the record, which is in whole microseconds.
        private func begins(_ line: Line, notBefore nanoseconds: UInt64) -> Bool {
            line.number("mono_us") >= Double(nanoseconds / 1000)
        }

        @Test func `an expected block is no stall and what follows is one`() throws {
            let watched = try Watched()
            defer { watched.end() }
            let expected = Atomic<UInt64>(0)
            let injected = Injected(on: watched.thread) {
                StallMonitor.expectingBlock {
                    blockForTheTest(milliseconds: 400)
                    expected.store(MonotonicTime.now.nanoseconds, ordering: .sequentiallyConsistent)
                }
                otherBlockForTheTest(milliseconds: 300)
            }
            #expect(eventually { injected.isOver && watched.sink.records.count == 1 })
            let line = try #require(watched.sink.records.first)
            #expect(line.names("otherBlockForTheTest"), "\(line.symbols)")
            #expect(begins(line, notBefore: expected.load(ordering: .sequentiallyConsistent)), "\(line.text)")
            #expect(injected.ratio(line.number("duration_ms")) < 1)
        }

        @Test func `while it is paused nothing counts and afterwards only what is new`() throws {
            let watched = try Watched()
            defer { watched.end() }
            watched.monitor.pause(watched.thread.loop)
            watched.stall(milliseconds: 400)
            #expect(watched.monitor.statistics.stalls == 0)
            // Paused and resumed in the midst of a stall: what lies before is not in the record.
            watched.monitor.pause()
            let end = DispatchSemaphore(value: 0)
            let injected = Injected(on: watched.thread) { blockForTheTest(until: end) }
            #expect(eventually { injected.hasBegun && MonotonicTime.now.nanoseconds > injected.begin + 400_000_000 })
            let resumed = MonotonicTime.now.nanoseconds
            watched.monitor.resume()
            #expect(eventually { watched.monitor.statistics.stalls == 1 })
            end.signal()
            #expect(eventually { injected.isOver && watched.sink.records.count == 1 })
            let seen = MonotonicTime.now.nanoseconds
            let line = try #require(watched.sink.records.first)
            #expect(begins(line, notBefore: resumed), "\(line.text)")
            #expect(line.number("duration_ms") * 1e6 <= Double(seen - resumed), "\(line.text)")
            #expect(line.phase == "end")
        }

        /// More than the loop's own memory of them holds.
        @Test func `stalls in a pause are not counted as lost after it`() throws {
            let watched = try Watched()
            defer { watched.end() }
            watched.monitor.pause(watched.thread.loop)
            for _ in 0..<6 { watched.stall(milliseconds: 200) }
            watched.monitor.resume(watched.thread.loop)
            watched.stall()
            #expect(eventually { watched.sink.records.count == 1 })
            let statistics = watched.monitor.statistics
            #expect(statistics.stalls == 1 && statistics.dropped == 0, "\(statistics)")
        }

        /// The loop goes on to record what only the earlier watch had asked for.
        @Test func `what only a watch with a lower threshold would count is no lost stall`() throws {
            let watched = try Watched()
            defer { watched.end() }
            watched.monitor.unwatch(watched.thread.loop)
            var rules = StallRules.empty
            rules.callout = .init(interval: .milliseconds(1), timeouts: 1)
            try watched.monitor.watch(watched.thread.loop, rules: rules)
            watched.monitor.unwatch(watched.thread.loop)
            try watched.monitor.watch(watched.thread.loop)
            let before = watched.monitor.statistics
            let calls = Atomic<Int>(0)
            for _ in 0..<150 {
                watched.thread.perform {
                    blockForTheTest(milliseconds: 2)
                    calls.add(1, ordering: .relaxed)
                }
            }
            #expect(eventually { calls.load(ordering: .relaxed) == 150 })
            watched.stall()
            #expect(eventually { watched.monitor.statistics.stalls > before.stalls })
            #expect(watched.monitor.statistics.dropped == before.dropped)
        }

        @Test func `a pause in a stall abandons it`() throws {
            let watched = try Watched()
            defer { watched.end() }
            let end = DispatchSemaphore(value: 0)
            let injected = Injected(on: watched.thread) { blockForTheTest(until: end) }
            #expect(eventually { watched.monitor.statistics.stalls == 1 })
            watched.monitor.pause(watched.thread.loop)
            #expect(eventually { watched.sink.records.count == 1 })
            #expect(watched.sink.records.first?.phase == "abandoned")
            #expect(!injected.isOver)
            end.signal()
            #expect(eventually { injected.isOver })
            watched.monitor.resume(watched.thread.loop)
            watched.stall()
            #expect(eventually { watched.sink.records.count == 2 })
        }

        @Test func `in the grace nothing counts and a hang that outlives it is found`() throws {
            var configuration = MonitorTests.configuration
            configuration.startupGrace = .milliseconds(700)
            let graceAtLeast = MonotonicTime.now.nanoseconds + 700_000_000
            let watched = try Watched(configuration)
            defer { watched.end() }
            let end = DispatchSemaphore(value: 0)
            let injected = Injected(on: watched.thread) { blockForTheTest(until: end) }
            #expect(eventually { watched.monitor.statistics.stalls == 1 })
            end.signal()
            #expect(eventually { injected.isOver && watched.sink.records.count == 1 })
            let seen = MonotonicTime.now.nanoseconds
            let line = try #require(watched.sink.records.first)
            #expect(begins(line, notBefore: graceAtLeast), "\(line.text)")
            #expect(line.number("duration_ms") * 1e6 <= Double(seen - graceAtLeast), "\(line.text)")
        }

        @Test func `a loop has rules of its own`() throws {
            let watched = try Watched(name: "quick")
            defer { watched.end() }
            let slow = try KeepAliveThread(name: "slow")
            defer {
                slow.stop()
                slow.join()
            }
            var rules = StallRules()
            rules.callout = .init(interval: .milliseconds(300))
            try watched.monitor.watch(slow.loop, rules: rules)
            let (one, two) = (
                Injected(on: watched.thread) { blockForTheTest(milliseconds: 400) },
                Injected(on: slow) { blockForTheTest(milliseconds: 400) }
            )
            #expect(eventually { one.isOver && two.isOver && watched.sink.records.count == 1 })
            #expect(watched.sink.records.first?.string("loop") == "quick")
            let three = Injected(on: slow) { blockForTheTest(milliseconds: 1000) }
            #expect(eventually { three.isOver && watched.sink.records.count == 2 })
            #expect(watched.sink.records.last?.number("threshold_ms") == 900)
        }

        @Test func `what blocks in a nested run is found and the run itself is not`() throws {
            let watched = try Watched()
            defer { watched.end() }
            let loop = watched.thread.loop
            let injected = Injected(on: watched.thread) {
                loop.perform(after: .milliseconds(50)) { blockForTheTest(milliseconds: 300) }
                loop.run(until: .now + .milliseconds(900))
            }
            #expect(eventually { injected.isOver && watched.sink.records.count == 1 })
            #expect(!eventually(seconds: 1) { watched.sink.records.count > 1 })
            let line = try #require(watched.sink.records.first)
            #expect(line.names("blockForTheTest") && injected.ratio(line.number("duration_ms")) < 0.6)
        }
    }
}
