import Dispatch
import LagMonitor
import LagMonitorTestKit
import Synchronization
import Testing

@Suite struct TestMonitorTests {
    @Test func `a long callback is one stall of exactly its length`() throws {
        let kit = try TestMonitor()
        kit.loop("main").work(for: .milliseconds(400))
        let record = try #require(kit.records.first)
        #expect(kit.records.count == 1)
        #expect(record.loop == "main" && record.kind == .callout && record.phase == .end)
        #expect(record.durationNanoseconds == 400_000_000)
        #expect(record.durationBounds == nil)
        #expect(record.thresholdNanoseconds == 150_000_000)
        #expect(record.activity == "before_sources")
        #expect(record.cause == .cpu && record.evidence.cpuNanoseconds == 400_000_000)
        #expect(record.culprit == "scriptedWork()" && record.fingerprint.hasPrefix("v1:"))
        #expect(record.message == "main was stalled for 400 ms, computing in scriptedWork()")
        #expect(record.sequence == 1)
        #expect(kit.statistics.stalls == 1 && kit.statistics.reported == 1)
    }

    @Test func `the threshold is exact`() throws {
        let kit = try TestMonitor()
        let loop = kit.loop()
        loop.work(for: .nanoseconds(149_999_999))
        #expect(kit.records.isEmpty)
        loop.work(for: .milliseconds(150))
        #expect(kit.records.map(\.durationNanoseconds) == [150_000_000])
    }

    @Test func `records are the same in every run`() throws {
        func run() throws -> [StallRecord] {
            let kit = try TestMonitor()
            kit.advance(by: .seconds(2))
            kit.loop("a").work(for: .milliseconds(300))
            kit.loop("b").work(for: .seconds(7))
            return kit.records
        }
        let first = try run()
        #expect(first.map(\.phase) == [.end, .begin, .end])
        #expect(try run() == first)
        #expect(first[0].startRealtimeNanoseconds == 1_767_225_602_000_000_000)
        #expect(first[0].id != first[1].id && first[1].id == first[2].id)
        #expect(first[1].durationNanoseconds == 5_000_000_000 && first[2].severity == .error)
    }

    @Test func `many short callbacks are reported as starvation`() throws {
        let kit = try TestMonitor()
        kit.loop().work(for: .milliseconds(20), times: 60)
        #expect(kit.records.map(\.kind) == [.starvation])
        #expect(kit.records.first?.durationNanoseconds == 1_200_000_000)
        kit.loop().work(for: .milliseconds(20), times: 40)
        for _ in 0..<60 { kit.loop().work(for: .milliseconds(20)) }
        #expect(kit.records.count == 1, "callbacks with rests in between are not starvation")
    }

    @Test func `the cause of a stall is the cause given by the test`() throws {
        let kit = try TestMonitor(rules: StallRules())
        var evidence = StallRecord.Evidence()
        evidence.lockOwner = .init(threadID: 12, threadName: "writer")
        kit.loop("main").work(for: .milliseconds(200), ScriptedWork(.lock, in: ["Cache.load()", "main"], evidence: evidence))
        kit.loop("main").work(for: .milliseconds(200), ScriptedWork(.syscall, in: []))
        let (lock, call) = (kit.records[0], kit.records[1])
        #expect(lock.cause == .lock && lock.culprit == "Cache.load()" && lock.capture == .passive)
        #expect(lock.evidence.lockOwner?.threadName == "writer")
        #expect(lock.message == "main was stalled for 200 ms, waiting in Cache.load() for a lock held by thread 12 'writer'")
        #expect(call.cause == .syscall && call.capture == .none && call.captureError != nil && call.frames.isEmpty)
        #expect(call.fingerprint != lock.fingerprint)
    }

    @Test func `a callback followed by another is reported with its own cause`() throws {
        let kit = try TestMonitor()
        let loop = kit.loop()
        loop.begin(ScriptedWork(.lock))
        kit.advance(by: .milliseconds(300))
        loop.begin(ScriptedWork(.cpu))
        kit.advance(by: .milliseconds(10))
        loop.end()
        #expect(kit.records.map(\.cause) == [.lock])
    }

    @Test func `stalls of two loops at the same time are reported separately`() throws {
        let kit = try TestMonitor()
        let (one, two) = (kit.loop("one"), kit.loop("two"))
        one.begin(ScriptedWork(.cpu))
        kit.advance(by: .milliseconds(100))
        two.begin(ScriptedWork(.lock))
        kit.advance(by: .milliseconds(200))
        one.end()
        kit.advance(by: .milliseconds(100))
        two.end()
        #expect(kit.records.map(\.loop) == ["one", "two"])
        #expect(kit.records.map(\.durationNanoseconds) == [300_000_000, 300_000_000])
        #expect(kit.records.map(\.cause) == [.cpu, .lock])
    }

    @Test func `a loop that ignores pings while it is waiting is found`() throws {
        var rules = StallRules()
        rules.pingWhileWaiting = .init()
        let kit = try TestMonitor(rules: rules)
        kit.loop().ignorePings(for: .milliseconds(500))
        #expect(kit.records.map(\.kind) == [.ping])
        #expect((400_000_000...500_000_000).contains(kit.records.first?.durationNanoseconds ?? 0))
        kit.advance(by: .seconds(10))
        #expect(kit.records.count == 1)
    }

    @Test func `an idle hour has no records and is over at once`() throws {
        let kit = try TestMonitor()
        _ = kit.loop()
        kit.advance(by: .seconds(3600))
        #expect(kit.records.isEmpty)
        #expect(kit.now.nanoseconds == 4_600_000_000_000)
    }

    @Test func `the limits apply as in a program`() throws {
        let kit = try TestMonitor()
        for _ in 0..<15 { kit.loop().work(for: .milliseconds(200)) }
        #expect(kit.records.count == 10)
        #expect(kit.statistics.stalls == 15 && kit.statistics.suppressed == 5)
        kit.advance(by: .seconds(90))
        #expect(kit.lines.contains { $0.contains(#""event":"suppressed""#) })
        #expect(kit.lines.contains { $0.contains(#""event":"recurring""#) })
    }

    @Test func `a stall in progress is abandoned when the monitor stops`() throws {
        let kit = try TestMonitor()
        kit.loop().begin()
        kit.advance(by: .milliseconds(300))
        kit.stop()
        #expect(kit.records.map(\.phase) == [.abandoned] && kit.records[0].severity == .critical)
    }

    @Test func `a loop can be unwatched`() throws {
        let kit = try TestMonitor()
        let loop = kit.loop()
        loop.work(for: .milliseconds(300))
        kit.unwatch(loop)
        loop.work(for: .milliseconds(300))
        #expect(kit.records.count == 1)
        #expect(kit.loop() !== loop)
        kit.loop().work(for: .milliseconds(300))
        #expect(kit.records.count == 2)
    }

    @Test func `each loop can have its own rules`() throws {
        let kit = try TestMonitor()
        var rules = StallRules()
        rules.callout = .init(interval: .milliseconds(10), timeouts: 2)
        try kit.watch("quick", rules: rules).work(for: .milliseconds(30))
        kit.loop("slow").work(for: .milliseconds(30))
        #expect(kit.records.map(\.loop) == ["quick"])
    }

    @Test func `rules that need a real thread are refused`() throws {
        var rules = StallRules()
        rules.frame = .init()
        #expect(throws: StallMonitorError.self) { try TestMonitor(rules: rules) }
        rules = StallRules()
        rules.sampling = .init()
        #expect(throws: StallMonitorError.self) { try TestMonitor(rules: rules) }
        #expect(throws: StallMonitorError.self) { try TestMonitor(rules: .empty) }
    }

    @Test func `a custom handler is tested without a real stall`() throws {
        let kit = try TestMonitor()
        let alerts = AlertBook(kit)
        kit.loop("main").work(for: .milliseconds(400), ScriptedWork(.syscall))
        kit.loop("main").work(for: .seconds(6), ScriptedWork(.lock, in: ["Cache.load()", "main"]))
        #expect(kit.waitForHandlers())
        #expect(alerts.titles == ["main: lock in Cache.load()"])
    }

    @Test func `waiting for a handler that hangs times out`() throws {
        let kit = try TestMonitor()
        let queue = DispatchQueue(label: "stuck")
        let gate = DispatchSemaphore(value: 0)
        kit.onStall(queue: queue) { _ in gate.wait() }
        kit.loop().work(for: .milliseconds(400))
        #expect(!kit.waitForHandlers(atMost: .milliseconds(20)))
        #expect(kit.records.count == 1)
        gate.signal()
        #expect(kit.waitForHandlers())
    }

    @Test func `a sink that fails is seen in the statistics`() throws {
        let sink = MemorySink()
        let kit = try TestMonitor(sinks: [sink])
        sink.fail(with: SinkError(.closed, path: "full"))
        kit.loop().work(for: .milliseconds(400))
        #expect(kit.statistics.dropped == 1 && kit.statistics.reported == 0)
        sink.fail(with: nil)
        kit.loop().work(for: .milliseconds(400))
        #expect(sink.lines.count == 2 && sink.lines[0].contains(#""event":"dropped""#))
    }

    @Test func `test monitors are independent of each other and are released`() throws {
        weak var released: TestMonitor?
        do {
            let (one, two) = (try TestMonitor(), try TestMonitor())
            released = one
            one.loop().work(for: .milliseconds(400))
            #expect(one.records.count == 1 && two.records.isEmpty)
        }
        #expect(released == nil)
    }

    @Test func `a sample record has the same form as a reported one`() throws {
        let sample = StallRecord.sample(duration: .milliseconds(400))
        let kit = try TestMonitor()
        kit.loop().work(for: .milliseconds(400))
        var record = try #require(kit.records.first)
        (record.threadID, record.threadName) = (sample.threadID, sample.threadName)
        (record.samples, record.samplesMatched) = (sample.samples, sample.samplesMatched)
        #expect(record == sample)
        #expect(StallRecord.sample(number: 2).id != sample.id)
    }
}
