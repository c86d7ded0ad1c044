import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import LagOutput

/// Accepts every line; the test decides later whether it arrived.
private final class LateSink: RecordSink {
    private struct State {
        var waiting: [Notice?] = []
        var abandoned: UInt64 = 0
        var notices: [Notice] = []
    }

    let name = "late"
    private let state = Mutex(State())

    func write(_ line: UnsafeRawBufferPointer) {}
    func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) { state.withLock { $0.waiting.append(facts.notice) } }
    func close() {}
    var unsettledLines: Int { state.withLock { $0.waiting.count } }
    func takeAbandonedLines() -> UInt64 {
        state.withLock { state in
            defer { state.abandoned = 0 }
            return state.abandoned
        }
    }
    func takeAbandonedNotices() -> [Notice] {
        state.withLock { state in
            defer { state.notices = [] }
            return state.notices
        }
    }
    /// Adds the loss of `count` records of an earlier process.
    func inherit(_ count: UInt64) {
        state.withLock { $0.notices.append(.dropped(count, .sinkFailed)) }
    }
    func settle(arrived: Bool) {
        state.withLock { state in
            for notice in state.waiting where !arrived {
                if let notice { state.notices.append(notice) } else { state.abandoned += 1 }
            }
            state.waiting = []
        }
    }
}

struct RecordOutputTests {
    private let now = OutputTime(realtimeNanoseconds: Sample.start, monotonicNanoseconds: 5_000_000)

    private func output(_ sink: any RecordSink) -> RecordOutput {
        RecordOutput(encoder: RecordEncoder(context: Sample.context), sink: sink)
    }

    private func events(_ sink: MemorySink) throws -> [String] {
        try sink.lines.map { line in
            let parsed = try Sample.parse(line)
            guard parsed["event"] as? String == "dropped" else { return "stall" }
            return "\(parsed["reason"] ?? "")=\(parsed["dropped"] ?? "")"
        }
    }

    @Test func `a record is written as one line`() throws {
        let sink = MemorySink()
        var output = output(sink)
        try output.write(Sample.record(), now: now)
        #expect(sink.lines == [try Sample.line(Sample.record())])
    }

    @Test func `a drop notice is written as expected`() throws {
        let sink = MemorySink()
        var output = output(sink)
        output.countDropped(3, reason: .queueFull)
        try output.announce(now: now)
        try output.announce(now: now)
        #expect(
            sink.lines == [
                """
                {"schema":"lagmonitor.stall.v1","time":"2024-02-29T23:59:59.123456789Z","event":"dropped","dropped":3,\
                "reason":"queue_full","mono_us":5000,"boot_id":"00112233445566778899aabbccddeeff","pid":4242,\
                "process_name":"shop","host_name":"host-1","dropped_total":3}

                """
            ]
        )
    }

    @Test func `lines lost in the sink are announced when it works again`() throws {
        let sink = MemorySink()
        var output = output(sink)
        try output.write(Sample.record(), now: now)
        sink.fail(with: SinkError(.writeFailed, path: "memory", code: ENOSPC))
        for _ in 0..<2 { #expect(throws: SinkError.self) { try output.write(Sample.record(), now: now) } }
        #expect(output.unannounced == 2)
        sink.fail(with: nil)
        try output.write(Sample.record(), now: now)
        try output.write(Sample.record(), now: now)
        #expect(try events(sink) == ["stall", "sink_failed=2", "stall", "stall"])
        #expect(output.unannounced == 0)
        #expect(output.droppedTotal == 2)
        #expect(try Sample.parse(try #require(sink.lines.last))["dropped_total"] as? Int == 2)
    }

    @Test func `losses are announced by reason`() throws {
        let sink = MemorySink()
        var output = output(sink)
        sink.fail(with: SinkError(.tooSlow, path: "memory"))
        #expect(throws: SinkError.self) { try output.write(Sample.record(), now: now) }
        sink.fail(with: nil)
        output.countDropped(5, reason: .queueFull)
        try output.write(Sample.record(), now: now)
        #expect(try events(sink) == ["queue_full=5", "sink_slow=1", "stall"])
    }

    @Test func `a line that the sink gave up is counted`() throws {
        let scratch = try ScratchDirectory()
        try #require(mkfifo(scratch.path + "/pipe", 0o600) == 0)
        let reader = open(scratch.path + "/pipe", O_RDONLY | O_NONBLOCK)
        try #require(fcntl(reader, 1031, 4096) == 4096)
        let sink = try FileSink(path: scratch.path + "/pipe", timeout: .milliseconds(20))
        var output = output(sink)
        try output.write(Sample.record(frames: 100), now: now)
        close(reader)
        #expect(throws: SinkError(.readerGone, path: sink.name, code: EPIPE)) { try output.write(Sample.record(), now: now) }
        // The line that was cut and the line that was not begun.
        #expect(output.droppedTotal == 2)
    }

    @Test func `several losses at the same time delay their notice only once`() throws {
        let sink = MemorySink()
        var output = output(sink)
        sink.fail(with: SinkError(.writeFailed, path: "memory", code: ENOSPC))
        for step in 0..<6 {
            let now = OutputTime(realtimeNanoseconds: 0, monotonicNanoseconds: 1_000_000_000 + UInt64(step))
            #expect(throws: SinkError.self) { try output.write(Sample.record(), now: now) }
        }
        #expect(
            output.retryAnnouncement(now: OutputTime(realtimeNanoseconds: 0, monotonicNanoseconds: 1_000_000_010))
                == 2_000_000_000
        )
    }

    /// An accepted line may still be lost: the losses that it announces must neither get lost with it nor count twice.
    @Test func `losses are announced again if their notice was lost`() throws {
        func at(_ seconds: UInt64) -> OutputTime {
            OutputTime(realtimeNanoseconds: 0, monotonicNanoseconds: seconds * 1_000_000_000)
        }
        let sink = LateSink()
        var output = output(sink)
        try output.write(Sample.record(), now: at(1))
        #expect(output.retryAnnouncement(now: at(1)) == 2_000_000_000, "the line may still be given up")
        sink.settle(arrived: false)
        #expect(output.retryAnnouncement(now: at(2)) == 3_000_000_000)
        #expect(output.droppedTotal == 1 && output.unannounced == 0 && sink.unsettledLines == 1)
        sink.settle(arrived: false)
        #expect(output.retryAnnouncement(now: at(3)) == 4_000_000_000)
        #expect(output.droppedTotal == 1 && sink.unsettledLines == 1)
        sink.settle(arrived: true)
        #expect(output.retryAnnouncement(now: at(9)) == .max)
        #expect(output.droppedTotal == 1 && output.unannounced == 0)
    }

    @Test func `lost lines of an earlier process count as dropped`() throws {
        let sink = LateSink()
        var output = output(sink)
        try output.write(Sample.record(), now: now)
        sink.inherit(3)
        try output.announce(now: now)
        #expect(output.droppedTotal == 3 && output.abandonedTotal == 0 && output.unannounced == 0)
        // Its notice belongs to this process and is not counted a second time.
        sink.settle(arrived: false)
        try output.announce(now: now)
        #expect(output.droppedTotal == 4 && output.abandonedTotal == 1 && output.unannounced == 0)
    }

    @Test func `a drop notice is within the line limit`() throws {
        var encoder = RecordEncoder(context: Sample.extremeContext, limits: try LineLimits(maxLineBytes: 1024))
        let time = OutputTime(realtimeNanoseconds: .min, monotonicNanoseconds: .max)
        let notice = Notice.dropped(.max, .sinkFailed, total: .max, time: time)
        let line = encoder.encode(notice) { String(decoding: $0, as: UTF8.self) }
        #expect(line.utf8.count <= 1024)
        #expect(try Sample.parse(line)["dropped"] as? UInt64 == .max)
    }
}
