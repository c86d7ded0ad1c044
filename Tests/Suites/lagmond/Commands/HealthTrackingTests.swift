internal import LagMonitor
import Synchronization
internal import Testing

@testable internal import lagmond

/// What `/healthz` reports of the output.
struct HealthTrackingTests {
    /// Accepts every line; the test sets how many lines it lost and how many wait.
    private final class ScriptedSink: LossExplainingSink {
        let name = "scripted"
        let lost = Mutex<UInt64>(0)
        let waiting = Mutex(0)
        let notices = Mutex<[Notice]>([])
        let refusal = Mutex<SinkError?>(nil)

        func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
            if let error = refusal.withLock({ $0 }) { throw error }
        }
        func close() {}
        var lossReason: String? { "the receiver answered with status 401" }
        var unsettledLines: Int { waiting.withLock { $0 } }

        func takeAbandonedLines() -> UInt64 {
            lost.withLock { lost in
                defer { lost = 0 }
                return lost
            }
        }

        func takeAbandonedNotices() -> [Notice] {
            notices.withLock { notices in
                defer { notices = [] }
                return notices
            }
        }
    }

    private let sink = ScriptedSink()
    private let tracking: HealthTrackingSink
    private let messages = CollectedTexts()

    private final class CollectedTexts: Sendable {
        let texts = Mutex<[String]>([])
    }

    init() { tracking = HealthTrackingSink(sink) { [messages] message in messages.texts.withLock { $0.append(message) } } }

    private func write() throws { try Array("{}\n".utf8).withUnsafeBytes { try tracking.write($0) } }

    private func loseLine() {
        sink.lost.withLock { $0 = 1 }
        _ = tracking.takeAbandonedLines()
    }

    @Test func `a written line clears the health failure of an earlier lost line`() throws {
        loseLine()
        #expect(tracking.health.failure?.contains("1 lines") == true)
        try write()
        #expect(tracking.health.failure == nil)
    }

    @Test func `the reason why accepted lines were lost is reported, and in the health`() throws {
        loseLine()
        let reason = "the receiver answered with status 401"
        #expect(tracking.health.failure == "scripted: 1 lines that it had accepted were lost: \(reason)")
        let message = "scripted: lines that it had accepted were not delivered: \(reason); lines are lost"
        #expect(messages.texts.withLock { $0 } == [message])
    }

    /// A `dropped` line could not report them, because the output accepts no line.
    @Test func `each reason for lost lines is reported once`() throws {
        func fail(_ error: SinkError?, times: Int) {
            sink.refusal.withLock { $0 = error }
            for _ in 0..<times { try? write() }
        }
        fail(SinkError(.writeFailed, path: "full", code: 28), times: 20)
        fail(nil, times: 1)
        fail(SinkError(.writeFailed, path: "full", code: 28), times: 1)
        let full = "cannot write to full: No space left on device (errno 28); lines are lost"
        #expect(messages.texts.withLock { $0 } == [full])
        fail(SinkError(.writeFailed, path: "full", code: 5), times: 2)
        #expect(messages.texts.withLock { $0.count } == 2)
    }

    @Test func `lost lines of an earlier process are a health failure until a line is written`() throws {
        // Lines whose loss was already reported before do not concern the output now.
        sink.notices.withLock { $0 = [.dropped(2, .queueFull, total: 2, time: .now())] }
        #expect(tracking.takeAbandonedNotices().count == 1 && tracking.health.failure == nil)
        sink.notices.withLock { $0 = [.dropped(3, .sinkFailed, total: 0, time: .now())] }
        #expect(tracking.takeAbandonedNotices().count == 1)
        #expect(tracking.health.failure?.contains("3 lines") == true)
        try write()
        #expect(tracking.health.failure == nil)
    }

    @Test func `a line that is still waiting does not clear the health failure`() throws {
        loseLine()
        sink.waiting.withLock { $0 = 1 }
        try write()
        _ = tracking.unsettledLines
        try write()
        #expect(tracking.health.failure != nil)
        sink.waiting.withLock { $0 = 0 }
        _ = tracking.unsettledLines
        #expect(tracking.health.failure == nil)
    }
}
