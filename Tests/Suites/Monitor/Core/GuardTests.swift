import Dispatch
import LagMonitor
import Synchronization
import TestSupport
import Testing

extension MonitorTests {
    /// What must not be reported as a stall, on real loops.
    @Suite struct GuardTests {
        /// Whether the record begins no earlier than that time; the record is in whole microseconds.
        private func begins(_ line: Line, notBefore nanoseconds: UInt64) -> Bool {
            line.number("mono_us") >= Double(nanoseconds / 1000)
        }

        @Test func `an expected block is not a stall, but the block after it is one`() throws {
            let watched = try Watched()
            defer { watched.end() }
            let expected = Atomic<UInt64>(0)
            let search = StallSearch(watched.monitor)
            let injected = Injected(on: watched.thread) {
                StallMonitor.expectingBlock {
                    blockForTheTest(milliseconds: 400)
                    expected.store(MonotonicTime.now.nanoseconds, ordering: .sequentiallyConsistent)
                }
                repeat { otherBlockForTheTest(milliseconds: 300) } while !search.isOver
            }
            #expect(eventually { injected.isOver && watched.sink.records.count == 1 })
            let line = try #require(watched.sink.records.first)
            #expect(line.names("otherBlockForTheTest"), "\(line.symbols)")
            #expect(begins(line, notBefore: expected.load(ordering: .sequentiallyConsistent)), "\(line.text)")
            #expect(injected.ratio(line.number("duration_ms")) < 1)
        }

        @Test func `nothing counts during a pause, and afterwards only the time since it`() throws {
            let watched = try Watched()
            defer { watched.end() }
            watched.monitor.pause(watched.thread.loop)
            watched.stall(milliseconds: 400)
            #expect(watched.monitor.statistics.stalls == 0)
            // Paused and resumed during a stall: the time before is not in the record.
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

        /// More stalls than the loop's own history holds.
        @Test func `stalls during a pause are not counted as lost afterwards`() throws {
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

        /// The loop continues to record what only the earlier watch had requested.
        @Test func `a stall that only an ended watch with a lower threshold would report is not lost`() throws {
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

        @Test func `a pause during a stall abandons the stall`() throws {
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

        @Test func `nothing counts in the startup grace, but a hang that outlasts it is found`() throws {
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

        @Test func `each loop follows its own rules`() throws {
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

        @Test func `a block within a nested run is reported, the nested run is not`() throws {
            let watched = try Watched()
            defer { watched.end() }
            let loop = watched.thread.loop
            let block = Mutex(Duration.zero)
            let injected = Injected(on: watched.thread) {
                let begin = MonotonicTime.now
                loop.perform(after: .milliseconds(50)) {
                    let begin = MonotonicTime.now
                    blockForTheTest(milliseconds: 300)
                    block.withLock { $0 = MonotonicTime.now - begin }
                }
                // Twice as long as the block, however long that takes.
                repeat {
                    loop.run(until: .now + .milliseconds(300))
                } while block.withLock({ $0 == .zero || MonotonicTime.now - begin < $0 * 2 })
            }
            #expect(eventually { injected.isOver && watched.sink.records.count == 1 })
            #expect(!eventually(milliseconds: 400) { watched.sink.records.count > 1 })
            let line = try #require(watched.sink.records.first)
            #expect(line.names("blockForTheTest") && injected.ratio(line.number("duration_ms")) < 0.6)
        }
    }
}
