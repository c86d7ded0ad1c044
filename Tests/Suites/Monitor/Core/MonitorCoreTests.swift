import LagDetection
import LagMonitorDelivery
import LagMonitorTestKit
import LagOutput
import LagRunLoop
import Synchronization
import TestSupport
import Testing

@testable import LagMonitor

@Suite struct MonitorCoreTests {
    /// No record follows the loss, so only the close can report it.
    @Test func `records dropped last are reported at the close`() throws {
        let sink = MemorySink(name: "memory")
        let core = MonitorCore(configuration: StallMonitorConfiguration(), sinks: [sink])
        try core.open()
        core.absorb(WatchCounters(dropped: 3))
        core.close(announcing: true)
        let line = try #require(sink.lines.first)
        #expect(sink.lines.count == 1)
        #expect(line.contains(#""event":"dropped""#))
        #expect(line.contains(#""dropped":3"#))
        #expect(core.statistics(of: core.absorbed).dropped == 3, "and counted once")
    }

    /// A sink that understands one format gets that one, whichever format the others get.
    @Test func `the format of a sink overrides the format of the monitor`() throws {
        var configuration = StallMonitorConfiguration()
        configuration.format = .ecs
        let (plain, own) = (MemorySink(), MemorySink())
        let core = MonitorCore(configuration: configuration, sinks: [plain, FormattedSink(own, .otlp)])
        try core.open()
        core.absorb(WatchCounters(dropped: 1))
        core.close(announcing: true)
        #expect(plain.lines.first?.hasPrefix(#"{"@timestamp":"#) == true)
        #expect(own.lines.first?.hasPrefix(#"{"resourceLogs":"#) == true)
    }

    /// Known only after the sinks are closed.
    @Test func `lines that a sink gives up at its close are in the statistics`() throws {
        let sink = AbandoningSink()
        let core = MonitorCore(configuration: StallMonitorConfiguration(), sinks: [sink])
        try core.open()
        core.close(announcing: true)
        #expect(core.statistics(of: core.absorbed).dropped == 2)
    }
}

extension MonitorCoreTests {
    /// Of two records in a queue, one arrives and one is lost: no record counts as both.
    @Test func `a record that a queue loses counts as dropped and not as reported`() throws {
        let sink = QueueingSink()
        let core = MonitorCore(configuration: StallMonitorConfiguration(), sinks: [sink])
        try core.open()
        func statistics() -> [UInt64] {
            let statistics = core.statistics(of: WatchCounters(stalls: 2))
            return [statistics.reported, statistics.dropped]
        }
        for number in 1...2 {
            core.deliver(.sample(number: UInt64(number)), WatchCounters(stalls: UInt64(number)))
        }
        #expect(statistics() == [0, 0], "on their way")
        sink.settle(lost: 0)
        _ = core.emitLosses()
        #expect(statistics() == [1, 0])
        sink.settle(lost: 1)
        _ = core.emitLosses()
        #expect(statistics() == [1, 1])
        core.close(announcing: true)
        #expect(statistics() == [1, 1])
    }
}

/// Takes lines, and reports later what became of each.
private final class QueueingSink: RecordSink {
    let name = "queue"
    private let state = Mutex((waiting: 0, lost: UInt64(0)))

    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {}
    func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) throws(SinkError) {
        if facts.stall != nil { state.withLock { $0.waiting += 1 } }
    }
    func close() {}

    func settle(lost: UInt64) {
        state.withLock { state in
            state.waiting -= 1
            state.lost += lost
        }
    }

    func takeAbandonedLines() -> UInt64 {
        state.withLock { state in
            defer { state.lost = 0 }
            return state.lost
        }
    }

    var unsettledLines: Int { state.withLock { $0.waiting } }
}

/// Takes all lines and delivers none.
private final class AbandoningSink: RecordSink {
    let name = "giving up"
    private let closed = Atomic(false)

    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {}
    func close() { closed.store(true, ordering: .relaxed) }
    func takeAbandonedLines() -> UInt64 { closed.exchange(false, ordering: .relaxed) ? 2 : 0 }
}

extension MonitorTests {
    /// With the real threads.
    @Suite struct SinkErrorTests {
        @Test func `a loss is reported without another stall`() throws {
            let watched = try Watched()
            defer { watched.end() }
            watched.sink.fail(with: SinkError(.writeFailed, path: "memory", code: 28))
            watched.stall()
            #expect(eventually { watched.monitor.statistics.dropped == 1 })
            watched.sink.fail(with: nil)
            #expect(eventually { !watched.sink.lines.isEmpty })
            let line = Line(watched.sink.lines.first ?? "")
            #expect(line.string("event") == "dropped" && line.integer("dropped") == 1)
        }

        /// The reporter hangs; the loop continues, and stalls that find no free episode are counted.
        @Test func `a hanging sink does not delay the loop`() throws {
            let hanging = try HangingReporter()
            let (sink, monitor, thread) = (hanging.sink, hanging.monitor, hanging.thread)
            let turns = Atomic<Int>(0)
            for _ in 0..<1000 { thread.loop.perform { turns.add(1, ordering: .relaxed) } }
            let second = Injected(on: thread) { blockForTheTest(milliseconds: 250) }
            #expect(eventually { second.isOver && turns.load(ordering: .relaxed) == 1000 })
            #expect(eventually { monitor.statistics.stalls == 2 })
            #expect(monitor.statistics.reported == 0, "the reporter is still in the first line")
            sink.release()
            #expect(eventually { monitor.statistics.reported == 2 })
            monitor.stop()
            thread.stop()
            thread.join()
        }
    }
}
