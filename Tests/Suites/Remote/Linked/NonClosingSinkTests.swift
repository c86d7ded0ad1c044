internal import Dispatch
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

struct NonClosingSinkTests {
    @Test func `the write deadline of one monitor ends only the wait of its own record`() {
        let sink = WaitingSink()
        let (ending, other) = (NonClosingSink(sink), NonClosingSink(sink))
        let ended = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            try? Self.write(to: ending)
            ended.signal()
        }
        #expect(eventually { sink.isWriting })
        other.limitWaiting(until: MonotonicTime(nanoseconds: 1))
        #expect(!sink.isLimited && ended.wait(timeout: .now()) == .timedOut)
        ending.limitWaiting(until: MonotonicTime(nanoseconds: 1))
        #expect(ended.wait(timeout: .now() + 30) == .success)
        #expect(!sink.isLimited)
        // A later record of the same monitor does not wait at all.
        #expect(throws: SinkError.self) { try Self.write(to: ending) }
    }

    private static func write(to sink: NonClosingSink) throws {
        let line = Array("{}\n".utf8)
        try line.withUnsafeBytes { try sink.write($0) }
    }
}
