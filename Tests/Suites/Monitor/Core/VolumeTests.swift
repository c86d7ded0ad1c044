import Dispatch
import LagDetection
import LagMonitorTestKit
import LagOutput
import Synchronization
import TestSupport
import Testing

@testable import LagMonitor

/// Many stalls, through the core: which are reported, held back, counted.
@Suite struct VolumeTests {
    /// A clock that tests set.
    private final class FakeClock: Sendable {
        private let nanoseconds = Atomic<UInt64>(1_000_000_000_000)

        func advance(milliseconds: UInt64) { nanoseconds.add(milliseconds * 1_000_000, ordering: .relaxed) }
        var time: OutputTime {
            let now = nanoseconds.load(ordering: .relaxed)
            return OutputTime(realtimeNanoseconds: Int64(now), monotonicNanoseconds: now)
        }
    }

    private let clock = FakeClock()
    private let sink = MemorySink()

    private final class ObservingSink: StallObserver {
        private let observed = Mutex<[LineFacts.Stall]>([])

        let name = "counts"
        var stalls: [LineFacts.Stall] { observed.withLock { $0 } }
        func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {}
        func close() {}
        func observe(_ stall: LineFacts.Stall) { observed.withLock { $0.append(stall) } }
    }

    private func core(
        sinks: [any RecordSink] = [],
        _ change: (inout StallMonitorConfiguration) -> Void = { _ in }
    ) throws -> MonitorCore {
        var configuration = StallMonitorConfiguration()
        configuration.recurrence = nil
        change(&configuration)
        try configuration.validate()
        let clock = clock
        let core = MonitorCore(configuration: configuration, sinks: [sink] + sinks) { clock.time }
        try core.open()
        return core
    }

    private func record(_ fingerprint: String = "v1:a", _ phase: StallRecord.Phase = .end, id: UInt64 = 0) -> StallRecord {
        var record = StallRecord.sample(duration: .milliseconds(200), phase: phase, number: id)
        record.fingerprint = fingerprint
        record.sequence = 0
        return record
    }

    private var lines: [Line] { sink.lines.map(Line.init) }
    private var events: [String] { lines.map { $0.string("event") } }

    @Test func `by default the first ten of a fingerprint are reported, and then one a minute`() throws {
        let core = try core()
        for _ in 0..<180 {
            core.deliver(record(), WatchCounters())
            clock.advance(milliseconds: 1000)
        }
        let statistics = core.statistics(of: WatchCounters())
        #expect(statistics.reported == 12 && statistics.suppressed == 168)
        #expect(events == Array(repeating: "stall", count: 10) + ["suppressed", "stall", "suppressed", "stall"])
        #expect(lines.filter { $0.string("event") == "stall" }.map { $0.integer("seq") } == Array(1...12), "no gap: none is lost")
        #expect(lines[10].integer("suppressed") == 50 && lines[12].integer("suppressed") == 59)
        #expect(lines[11].integer("suppressed_total") == 50 && lines[13].integer("suppressed_total") == 109)
        core.close(announcing: true)
        #expect(lines.last?.string("event") == "suppressed" && lines.last?.integer("suppressed") == 59)
        #expect(lines.last?.integer("suppressed_total") == 168)
    }

    @Test func `a handler receives the records that are written`() throws {
        let core = try core { $0.limits.perFingerprint?.burst = 3 }
        let collected = CollectedRecords()
        core.addHandler(StallHandler(queue: .global()) { collected.add($0) })
        for _ in 0..<20 { core.deliver(record(), WatchCounters(suppressed: 5)) }
        #expect(eventually { collected.records.count == 3 })
        #expect(collected.records.map(\.suppressedTotal) == [5, 5, 5])
        clock.advance(milliseconds: 60_000)
        core.deliver(record(), WatchCounters(suppressed: 5))
        #expect(eventually { collected.records.count == 4 })
        #expect(collected.records.last?.suppressedTotal == 22, "those of the restore interval and those of the limit")
    }

    @Test func `a handler or sink that counts also receives the records that are held back`() throws {
        let observer = ObservingSink()
        let core = try core(sinks: [observer]) { $0.limits.perFingerprint?.burst = 1 }
        let (every, written) = (CollectedRecords(), CollectedRecords())
        core.addHandler(StallHandler(queue: .global(), includesSuppressed: true) { every.add($0) })
        core.addHandler(StallHandler(queue: .global()) { written.add($0) })
        for id in 0..<20 as Range<UInt64> { core.deliver(record(id: id), WatchCounters()) }
        core.deliver(record("v1:a", .begin, id: 20), WatchCounters())
        let hang = observer.stalls.last
        #expect(hang?.phase == .begin && hang?.id == record(id: 20).id)
        core.deliver(record(id: 20), WatchCounters())
        #expect(observer.stalls.map(\.phase) == Array(repeating: .end, count: 20) + [.begin, .end])
        #expect(eventually { every.records.count == 22 && written.records.count == 3 })
        #expect(every.records.map(\.sequence) == [1] + Array(repeating: 0, count: 19) + [2, 3])
        #expect(every.records[19].suppressedTotal == 19)
    }

    /// Every record is counted: those that sinks lose, those that are held back, and those that the watchdog drops.
    @Test(arguments: 0..<4 as Range<UInt64>)
    func `each of thousands of stalls counts as written, held back or dropped`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let core = try core {
            $0.recurrence = RecurrenceRule(count: 2, window: .seconds(5))
            $0.limits.perFingerprint = .init(burst: 3, interval: .milliseconds(700))
            $0.limits.overall = .init(burst: 20, interval: .milliseconds(50))
            $0.limits.quiet = .seconds(2)
        }
        var last = StallMonitorStatistics()
        var watch = WatchCounters()
        for number in 0..<UInt64(5000) {
            if random.next() % 50 == 0 { sink.fail(with: SinkError(.writeFailed, path: "memory", code: 28)) }
            if random.next() % 20 == 0 { sink.fail(with: nil) }
            if random.next() % 90 == 0 { watch.dropped += 1 }
            if random.next() % 70 == 0 { watch.suppressed += 1 }
            clock.advance(milliseconds: random.next() % 40)
            // More fingerprints than are remembered, some of them far more frequent than others.
            let name = random.next() % 3 == 0 ? random.next() % 1000 : random.next() % 6
            let phase: StallRecord.Phase = random.next() % 10 == 0 ? .begin : random.next() % 30 == 0 ? .abandoned : .end
            core.deliver(record("v1:\(name)", phase, id: number / 2), watch)
            if number % 5 == 0 { _ = core.emitDueSuppressions { watch } }
            let statistics = core.statistics(of: watch)
            let sum = statistics.reported + statistics.suppressed + statistics.dropped
            #expect(sum == number + 1 + watch.dropped + watch.suppressed)
            #expect(statistics.reported >= last.reported && statistics.suppressed >= last.suppressed)
            #expect(statistics.dropped >= last.dropped && statistics.recurring >= last.recurring)
            last = statistics
        }
        #expect(last.suppressed > 1000 && last.reported > 1000 && last.dropped > 10 && last.recurring > 100)
        let totals = lines.filter { ["stall", "suppressed"].contains($0.string("event")) }.map { $0.integer("suppressed_total") }
        #expect(totals == totals.sorted(), "counters never go back")
        #expect(lines.filter { $0.string("event") == "stall" }.count == Int(last.reported))
    }

    @Test func `without a loss the summaries add up to the total`() throws {
        let core = try core {
            $0.limits.perFingerprint = .init(burst: 1, interval: .seconds(100))
            $0.limits.quiet = .seconds(3)
        }
        var random = SeededGenerator(seed: 1)
        for number in 0..<UInt64(3000) {
            clock.advance(milliseconds: number % 97)
            core.deliver(record("v1:\(random.next() % 400)"), WatchCounters())
            _ = core.emitDueSuppressions { WatchCounters() }
        }
        core.close(announcing: true)
        let summaries = lines.filter { $0.string("event") == "suppressed" }
        let statistics = core.statistics(of: WatchCounters())
        #expect(summaries.contains { $0.integer("fingerprints") > 1 }, "some fingerprints were merged")
        #expect(statistics.reported + statistics.suppressed == 3000)
        #expect(summaries.reduce(0) { $0 + $1.integer("suppressed") } == Int(statistics.suppressed))
        #expect(summaries.reduce(0) { $0 + $1.number("total_ms") } == Double(statistics.suppressed) * 200)
    }

    @Test func `a summary is due only while records are held back`() throws {
        let core = try core { $0.limits.perFingerprint?.burst = 1 }
        let never: () -> WatchCounters = {
            Issue.record("nothing is due")
            return WatchCounters()
        }
        core.deliver(record(), WatchCounters())
        #expect(core.emitDueSuppressions(never) == .max)
        core.deliver(record(), WatchCounters())
        let deadline = clock.time.monotonicNanoseconds + 60_000_000_000
        #expect(core.emitDueSuppressions(never) == deadline)
        clock.advance(milliseconds: 60_000)
        #expect(core.emitDueSuppressions { WatchCounters(suppressed: 7) } == .max)
        #expect(events == ["stall", "suppressed"])
        #expect(lines.last?.integer("suppressed_total") == 8)
    }

    @Test func `without limits no record is held back`() throws {
        let core = try core { $0.limits = .none }
        for _ in 0..<500 { core.deliver(record(), WatchCounters()) }
        #expect(sink.lines.count == 500 && core.statistics(of: WatchCounters()).reported == 500)
    }

    /// All stalls without a stack share one meaningless fingerprint.
    @Test func `stalls without a stack are not reported as recurring`() throws {
        let core = try core()
        for _ in 0..<5 {
            var record = record()
            record.capture = .none
            core.deliver(record, WatchCounters())
        }
        #expect(events == Array(repeating: "stall", count: 5))
    }

    @Test func `the third stall of a fingerprint is followed by a warning`() throws {
        let core = try core {
            $0.recurrence = RecurrenceRule()
            $0.limits.perFingerprint?.burst = 2
        }
        for _ in 0..<6 {
            core.deliver(record(), WatchCounters())
            clock.advance(milliseconds: 1000)
        }
        core.deliver(record("v1:b"), WatchCounters())
        #expect(events == ["stall", "stall", "recurring", "stall"], "also when the third is held back")
        let line = lines[2]
        #expect(line.integer("count") == 3 && line.number("window_s") == 600 && line.number("total_ms") == 600)
        #expect(line.string("fingerprint") == "v1:a" && line.string("severity") == "warning")
        #expect(core.statistics(of: WatchCounters()).recurring == 1)
    }
}

extension MonitorTests {
    /// With the real threads.
    @Suite struct SuppressionTests {
        private func configuration(quiet: Duration) -> StallMonitorConfiguration {
            var configuration = MonitorTests.configuration
            configuration.limits.perFingerprint = .init(burst: 1, interval: .seconds(3600))
            configuration.limits.quiet = quiet
            return configuration
        }

        @Test func `a summary is written without another stall`() throws {
            let watched = try Watched(configuration(quiet: .milliseconds(100)))
            defer { watched.end() }
            for _ in 0..<2 { watched.stallUntilFound() }
            #expect(eventually { watched.sink.lines.count == 2 })
            let line = Line(watched.sink.lines.last ?? "")
            #expect(line.string("event") == "suppressed" && line.integer("suppressed") == 1)
            #expect(line.string("message").contains("blockForTheTest"))
            #expect(line.string("fingerprint") == watched.sink.records.first?.string("fingerprint"))
            let statistics = watched.monitor.statistics
            #expect(statistics.stalls == 2 && statistics.reported == 1 && statistics.suppressed == 1)
        }

        @Test func `the monitor summarises suppressed stalls when it stops`() throws {
            let watched = try Watched(configuration(quiet: .seconds(3600)))
            for _ in 0..<3 { watched.stallUntilFound() }
            #expect(eventually { watched.monitor.statistics.suppressed == 2 })
            watched.end()
            let lines = watched.sink.lines.map(Line.init)
            #expect(lines.map { $0.string("event") } == ["stall", "recurring", "suppressed"])
            #expect(lines.last?.integer("suppressed") == 2 && lines.last?.integer("suppressed_total") == 2)
        }

        @Test func `every hang is reported, including its end`() throws {
            var configuration = configuration(quiet: .seconds(3600))
            configuration.hangAfter = .milliseconds(400)
            let watched = try Watched(configuration)
            defer { watched.end() }
            for _ in 0..<2 { watched.stall() }
            #expect(eventually { watched.monitor.statistics.suppressed == 1 })
            for count in [2, 4] { watched.stall(milliseconds: 700, untilRecords: count) }
            #expect(eventually { watched.monitor.statistics.reported == 5 })
            #expect(watched.sink.records.map(\.phase) == ["end", "begin", "end", "begin", "end"])
            #expect(Set(watched.sink.records.map { $0.string("id") }).count == 3)
        }
    }
}
