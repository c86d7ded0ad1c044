internal import LagMonitor
import Synchronization
internal import Testing

@testable internal import lagmond

/// What `/healthz` learns of the output.
struct HealthTrackingTests {
    /// Takes every line; what it lost and what waits is the test's choice.
    private final class ScriptedSink: RecordSink {
        let name = "scripted"
        let lost = Mutex<UInt64>(0)
        let waiting = Mutex(0)
        let notices = Mutex<[Notice]>([])

        func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {}
        func close() {}
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

    init() { tracking = HealthTrackingSink(sink) }

    private func write() throws { try Array("{}\n".utf8).withUnsafeBytes { try tracking.write($0) } }

    private func loseLine() {
        sink.lost.withLock { $0 = 1 }
        _ = tracking.takeAbandonedLines()
    }

    @Test func `a line that a file took ends the loss of an earlier one`() throws {
        loseLine()
        #expect(tracking.health.failure?.contains("1 lines") == true)
        try write()
        #expect(tracking.health.failure == nil)
    }

    @Test func `what an earlier process left and is lost shows until a line arrives`() throws {
        // What it had reported once says nothing of the output now.
        sink.notices.withLock { $0 = [.dropped(2, .queueFull, total: 2, time: .now())] }
        #expect(tracking.takeAbandonedNotices().count == 1 && tracking.health.failure == nil)
        sink.notices.withLock { $0 = [.dropped(3, .sinkFailed, total: 0, time: .now())] }
        #expect(tracking.takeAbandonedNotices().count == 1)
        #expect(tracking.health.failure?.contains("3 lines") == true)
        try write()
        #expect(tracking.health.failure == nil)
    }

    @Test func `a line that still waits ends no loss`() throws {
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
