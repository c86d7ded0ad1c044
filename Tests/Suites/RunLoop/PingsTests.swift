import Foundation
internal import LagActivity
internal import LagModel
import Synchronization
import TestSupport
import Testing

@testable import LagRunLoop

/// Pings: answered wherever the loop runs, without side effects.
struct PingsTests {
    private func answers(_ loop: ObservedRunLoop) -> Bool {
        let asked = MonotonicTime.now.nanoseconds
        loop.ping()
        return eventually { loop.beacon.pongNanoseconds >= asked }
    }

    @Test func `a sleeping loop answers a ping with a single turn`() throws {
        try withThread { thread in
            let loop = thread.loop
            let log = Log<String>()
            loop.add(RunLoopObserver { _, activity in log.add(activity.name) }, to: .common)
            try thread.performAndWait {}
            #expect(eventually { loop.isWaiting })
            usleep(20_000)
            log.clear()
            #expect(answers(loop))
            #expect(eventually { loop.isWaiting })
            usleep(20_000)
            #expect(log.all == ["after_waiting", "before_timers", "before_sources", "before_waiting"])
        }
    }

    @Test func `a loop that is not pinged publishes no answer`() throws {
        try withThread { thread in
            let loop = thread.loop
            try thread.performAndWait { _ = loop.run(in: .default, for: .milliseconds(5), returnAfterSourceHandled: false) }
            try thread.performAndWait {}
            #expect(loop.beacon.pongNanoseconds == 0)
        }
    }

    @Test func `a ping is answered in a mode that is not common too`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let mode = RunLoopMode("pings.private")
            loop.add(RunLoopPort(), to: mode)
            let answered = Box<Bool>()
            try ObservedRunLoop.performInBackground {
                _ = eventually { loop.isWaiting }
                answered.value = answers(loop)
                loop.stop()
            }
            #expect(loop.runBriefly(mode) == .stopped)
            #expect(answered.value == true)
        }
    }

    @Test func `a callback does not answer a ping, but a nested run in it does`() throws {
        try withThread { thread in
            let loop = thread.loop
            let (before, blocked, nested) = try thread.performAndWait {
                let before = loop.beacon.pongNanoseconds
                loop.ping()
                usleep(5_000)
                let blocked = loop.beacon.pongNanoseconds
                _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
                return (before, blocked, loop.beacon.pongNanoseconds)
            }
            #expect(blocked == before)
            #expect(nested > blocked)
        }
    }

    @Test func `a ping does not count as a handled source`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .default)
            let answered = Box<Bool>()
            try ObservedRunLoop.performInBackground {
                _ = eventually { loop.isWaiting }
                answered.value = answers(loop)
                loop.stop()
            }
            loop.ping()
            // Neither ping ended it.
            #expect(loop.runBriefly(once: true) == .stopped)
            #expect(answered.value == true)
        }
    }

    @Test func `a ping does not fill an empty mode, and the next run answers it`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.ping()
            #expect(loop.runBriefly() == .finished)
            #expect(loop.beacon.sequence == 0)
            #expect(loop.beacon.pongNanoseconds == 0)
            loop.add(RunLoopPort(), to: .default)
            #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
            #expect(loop.beacon.pongNanoseconds > 0)
        }
    }

    @Test func `pinging a loop that has ended has no effect`() throws {
        let thread = try KeepAliveThread(name: "ended")
        let loop = thread.loop
        thread.stop()
        thread.join()
        let last = loop.beacon.pongNanoseconds
        for _ in 0..<100 { loop.ping() }
        #expect(loop.beacon.pongNanoseconds == last)
        #expect(loop.beacon.activity == .finished)
    }

    @Test func `pings from several threads during the end of the loop are safe`() throws {
        for _ in 0..<50 {
            let thread = try KeepAliveThread(name: "ending")
            let loop = thread.loop
            let done = Counter()
            for _ in 0..<3 {
                try ObservedRunLoop.performInBackground {
                    while !loop.isFinished { loop.ping() }
                    loop.ping()
                    done.add()
                }
            }
            #expect(eventually { loop.beacon.pongNanoseconds > 0 })
            thread.stop()
            thread.join()
            #expect(eventually { done.value == 3 })
        }
    }

    /// Taking one of these locks again on the same thread would hang or trap.
    @Test func `a ping takes none of the locks of the loop`() throws {
        try withThread { thread in
            let loop = thread.loop
            #expect(loop.pingsWithoutLocking)
            let asked = MonotonicTime.now.nanoseconds
            loop.registry.withLock { _ in
                loop.performs.withLock { _ in
                    loop.runs.withLock { _ in loop.ping() }
                }
            }
            #expect(eventually { loop.beacon.pongNanoseconds >= asked })
        }
    }
}
