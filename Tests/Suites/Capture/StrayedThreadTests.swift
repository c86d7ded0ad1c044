import CLagLinux
import Glibc
import LagActivity
import Testing

@testable import LagCapture

struct StrayedThreadTests {
    @Test func `a thread that was seen on another stack gets no signal`() throws {
        SignalCapture.install()
        defer { SignalCapture.remove() }
        let capture = SignalCapture(snapshot: try #require(Snapshot()), languages: nil)
        // No thread has this number: a signal is sent to none.
        let target = ThreadIdentity(tid: .max, stackLow: 0x1000, stackHigh: 0x9000)
        let state = try #require(ThreadState(tid: cll_gettid()))
        capture.sawAsleep(target, at: 0x2000)
        if case .failed(.stackUnknown) = capture.take(target, state: state, within: 0) { Issue.record("it was on its own stack") }
        capture.sawAsleep(target, at: 0x9000)
        guard case .failed(.stackUnknown) = capture.take(target, state: state, within: 0) else {
            Issue.record("it was on another stack")
            return
        }
    }

    @Test func `a thread that blocks a signal with a handler may be in that handler`() {
        let (terminate, fault) = (UInt64(1) << UInt64(SIGTERM - 1), UInt64(1) << UInt64(SIGSEGV - 1))
        #expect(cll_signal_may_be_in_handler(terminate, terminate) != 0)
        #expect(cll_signal_may_be_in_handler(terminate, fault) == 0)
        #expect(cll_signal_may_be_in_handler(0, terminate | fault) == 0)
        // The signal mask of Dispatch's threads.
        #expect(cll_signal_may_be_in_handler(~fault, terminate | fault) == 0)
        #expect(cll_signal_may_be_in_handler(.max, terminate | fault) != 0)
    }
}
