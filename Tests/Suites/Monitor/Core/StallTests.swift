import Dispatch
import LagMonitor
import Synchronization
import TestSupport
import Testing

extension MonitorTests {
    @Suite struct StallTests {
        @Test func `one stall is reported as one end line`() throws {
            let watched = try Watched(name: "one")
            defer { watched.end() }
            let injected = watched.stallUntilFound()
            let rest = MonotonicTime.now.nanoseconds
            #expect(eventually { watched.sink.records.count == 1 })
            let line = try #require(watched.sink.records.first)
            #expect(line.phase == "end")
            #expect(line.string("kind") == "callout")
            #expect(line.string("loop") == "one")
            #expect(line.integer("thread_id") == Int(watched.thread.loop.thread.tid))
            #expect(line.string("thread_name") == "one")
            #expect(line.number("threshold_ms") == 120)
            #expect(line.string("capture") == "passive")
            #expect(line.names("blockForTheTest"), "\(line.symbols)")
            // The stretch of work contains the callback: it is never shorter, and hardly longer.
            #expect(injected.fits(line.number("duration_ms"), restingAt: rest), "\(injected.nanoseconds): \(line.text)")
            #expect(line.number("mono_us") * 1000 <= Double(injected.begin))
            #expect(!eventually(milliseconds: 400) { watched.sink.records.count > 1 })
        }

        @Test func `own frames of the program are distinguished from those of the run loop`() throws {
            let watched = try Watched()
            defer { watched.end() }
            watched.stallUntilFound()
            #expect(eventually { watched.sink.records.count == 1 })
            let line = try #require(watched.sink.records.first)
            #expect(line.symbols(inApp: true).contains { $0.contains("blockForTheTest") }, "\(line.symbols)")
            #expect(line.symbols(inApp: false).contains { $0.contains("LagRunLoop.") })
            #expect(!line.symbols(inApp: true).contains { $0.contains("LagRunLoop.") }, "\(line.symbols(inApp: true))")
        }

        @Test func `a computing loop is captured by signal`() throws {
            let watched = try Watched()
            defer { watched.end() }
            let had = Mutex<ProcessorTime?>(nil)
            let injected = Injected(on: watched.thread) {
                let time = spinForTheTest(milliseconds: 400)
                had.withLock { $0 = time }
            }
            #expect(eventually { injected.isOver && watched.sink.records.count == 1 })
            let line = try #require(watched.sink.records.first)
            let time = try #require(had.withLock { $0 })
            #expect(time.causes.map(\.rawValue).contains(line.string("cause")), "\(time): \(line.text)")
            // A thread that waits for a processor does not answer a signal.
            guard line.string("capture") == "signal" || time.alwaysAnswersInTime else { return }
            #expect(line.string("capture") == "signal", "\(time): \(line.text)")
            #expect(line.names("spinForTheTest"), "\(line.symbols)")
        }

        @Test func `short work is not reported`() throws {
            let watched = try Watched()
            defer { watched.end() }
            for _ in 0..<10 { watched.stall(milliseconds: 30) }
            #expect(watched.monitor.statistics.withoutPauses == StallMonitorStatistics())
            #expect(watched.sink.lines.isEmpty)
        }

        @Test func `two loops that stall at the same time are both reported`() throws {
            let watched = try Watched(name: "first")
            defer { watched.end() }
            let second = try KeepAliveThread(name: "second")
            defer {
                second.stop()
                second.join()
            }
            try watched.monitor.watch(second.loop, named: "other name")
            let search = StallSearch(watched.monitor, count: 2)
            let one = Injected(on: watched.thread) { repeat { blockForTheTest(milliseconds: 300) } while !search.isOver }
            let two = Injected(on: second) { repeat { otherBlockForTheTest(milliseconds: 350) } while !search.isOver }
            #expect(eventually { watched.sink.records.count == 2 && one.isOver && two.isOver })
            #expect(eventually { [watched.thread, second].allSatisfy { $0.loop.beacon.activity == .waiting } })
            let rest = MonotonicTime.now.nanoseconds
            let lines = Dictionary(uniqueKeysWithValues: watched.sink.records.map { ($0.string("loop"), $0) })
            let (first, other) = (try #require(lines["first"]), try #require(lines["other name"]))
            #expect(first.names("blockForTheTest") && !first.names("otherBlockForTheTest"))
            #expect(other.names("otherBlockForTheTest"))
            #expect(one.fits(first.number("duration_ms"), restingAt: rest), "\(one.nanoseconds): \(first.text)")
            #expect(two.fits(other.number("duration_ms"), restingAt: rest), "\(two.nanoseconds): \(other.text)")
            #expect(first.string("id") != other.string("id"))
        }

        @Test func `a hang is reported as a begin line and an end line`() throws {
            var configuration = MonitorTests.configuration
            configuration.hangAfter = .milliseconds(300)
            let watched = try Watched(configuration)
            defer { watched.end() }
            let over = DispatchSemaphore(value: 0)
            let injected = Injected(on: watched.thread) { blockForTheTest(until: over) }
            #expect(eventually { watched.sink.records.count == 1 })
            #expect(!injected.isOver)
            over.signal()
            #expect(eventually { injected.isOver && watched.thread.loop.beacon.activity == .waiting })
            let rest = MonotonicTime.now.nanoseconds
            #expect(eventually { watched.sink.records.count == 2 })
            let (begin, end) = (watched.sink.records[0], watched.sink.records[1])
            #expect([begin.phase, end.phase] == ["begin", "end"])
            for key in ["id", "time", "fingerprint", "stack_hash"] { #expect(begin.string(key) == end.string(key)) }
            #expect(begin.number("mono_us") == end.number("mono_us"))
            #expect(begin.names("blockForTheTest") && end.names("blockForTheTest"))
            #expect(begin.number("duration_ms") >= 300 && begin.number("duration_ms") < end.number("duration_ms"))
            #expect(injected.fits(end.number("duration_ms"), restingAt: rest), "\(injected.nanoseconds): \(end.text)")
            #expect([begin.integer("seq"), end.integer("seq")] == [1, 2])
            let statistics = watched.monitor.statistics
            #expect(statistics.stalls == 1 && statistics.reported == 2)
        }

        @Test func `with a hang threshold of zero every stall is reported at detection`() throws {
            var configuration = MonitorTests.configuration
            configuration.hangAfter = .zero
            let watched = try Watched(configuration)
            defer { watched.end() }
            watched.stall(milliseconds: 400, untilRecords: 1)
            #expect(eventually { watched.sink.records.count == 2 })
            #expect(watched.sink.records.map(\.phase) == ["begin", "end"])
            #expect(watched.sink.records[0].number("duration_ms") >= 120)
        }

        @Test func `after a reported stall the restoring preset only counts further stalls`() throws {
            var configuration = StallMonitorConfiguration.preset(.restoring)
            #expect(configuration.rules.callout?.threshold == .milliseconds(250) && configuration.restoreInterval == .seconds(5))
            configuration.rules.callout?.interval = .milliseconds(20)
            configuration.restoreInterval = .seconds(600)
            let watched = try Watched(configuration)
            defer { watched.end() }
            for _ in 0..<3 { watched.stall() }
            // The record is written on another thread than the counts.
            #expect(eventually { watched.monitor.statistics.suppressed == 2 && watched.sink.records.count == 1 })
            let statistics = watched.monitor.statistics
            #expect(statistics.stalls == 1 && statistics.reported == 1 && statistics.dropped == 0)
            #expect(watched.sink.records.count == 1)
        }

        @Test func `after a short restore interval the next stall is reported`() throws {
            var configuration = MonitorTests.configuration
            configuration.restoreInterval = .milliseconds(1)
            let watched = try Watched(configuration)
            defer { watched.end() }
            for count in 1...2 {
                watched.stall()
                #expect(eventually { watched.sink.records.count == count })
            }
            #expect(watched.monitor.statistics.suppressed == 0)
        }

        @Test func `the statistics add up`() throws {
            let watched = try Watched()
            defer { watched.end() }
            for count in 1...3 {
                watched.stall()
                #expect(eventually { watched.monitor.statistics.reported == UInt64(count) })
            }
            // The third is followed by a recurrence line, which must be written before the sink fails.
            #expect(eventually { watched.sink.lines.count == 4 })
            watched.sink.fail(with: SinkError(.writeFailed, path: "memory", code: 28))
            watched.stall()
            #expect(eventually { watched.monitor.statistics.dropped == 1 })
            watched.sink.fail(with: nil)
            watched.stall()
            #expect(eventually { watched.monitor.statistics.reported == 4 })
            let statistics = watched.monitor.statistics
            #expect(statistics.stalls == 5 && statistics.reported == 4 && statistics.dropped == 1 && statistics.suppressed == 0)
            #expect(statistics.recurring == 1)
            #expect(watched.sink.records.map { $0.integer("seq") } == [1, 2, 3, 5])
            let lines = watched.sink.lines.map(Line.init)
            #expect(
                lines.map { $0.string("event") } == ["stall", "stall", "stall", "recurring", "dropped", "stall"]
            )
            #expect(lines.last?.integer("dropped_total") == 1)
            watched.monitor.stop()
            #expect(watched.monitor.statistics == statistics)
        }
    }
}
