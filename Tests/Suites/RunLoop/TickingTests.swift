import Foundation
internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// Ticks at a fixed rate: in every mode, without keeping any object alive.
struct TickingTests {
    @Test func `a ticker runs on the thread of the loop until it is cancelled`() throws {
        try withThread { thread in
            let tids = Log<Int32>()
            let ticker = thread.loop.startTicking(every: .milliseconds(2)) { tids.add(ThreadIdentity.current.tid) }
            #expect(eventually { tids.count >= 5 })
            ticker?.cancel()
            ticker?.cancel()
            try thread.performAndWait {}
            let count = tids.count
            usleep(30_000)
            #expect(tids.count == count)
            #expect(Set(tids.all) == [thread.loop.thread.tid])
        }
    }

    @Test func `no tick begins after a cancellation on the loop`() throws {
        try withThread { thread in
            let loop = thread.loop
            let ticks = Counter()
            let ticker = Box<any LoopTicker>()
            ticker.value = loop.startTicking(every: .milliseconds(1)) {
                if ticks.add() == 3 { ticker.value?.cancel() }
            }
            #expect(eventually { ticks.value == 3 })
            usleep(30_000)
            #expect(ticks.value == 3)

            let late = Counter()
            let second = loop.startTicking(every: .milliseconds(1)) { late.add() }
            let (before, after) = try thread.performAndWait {
                // Due by now, and cancelled before the loop handles it.
                usleep(5_000)
                second?.cancel()
                let before = late.value
                _ = loop.run(in: .default, for: .milliseconds(10), returnAfterSourceHandled: false)
                return (before, late.value)
            }
            #expect(after == before)
        }
    }

    @Test func `a ticker runs in a mode that is not common too`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let mode = RunLoopMode("ticks.private")
            loop.add(RunLoopPort(), to: mode)
            let ticks = Counter()
            let ticker = loop.startTicking(every: .milliseconds(2)) { if ticks.add() == 3 { loop.stop() } }
            #expect(loop.runBriefly(mode) == .stopped)
            #expect(ticks.value == 3)
            ticker?.cancel()
        }
    }

    @Test func `a ticker runs in a nested run`() throws {
        try withThread { thread in
            let loop = thread.loop
            let ticks = Counter()
            let ticker = loop.startTicking(every: .milliseconds(2)) { ticks.add() }
            let inside = try thread.performAndWait {
                let before = ticks.value
                let end = MonotonicTime.now + .seconds(10)
                while ticks.value < before + 3, .now < end {
                    _ = loop.run(in: .default, for: .milliseconds(5), returnAfterSourceHandled: false)
                }
                return ticks.value - before
            }
            #expect(inside >= 3)
            ticker?.cancel()
        }
    }

    @Test func `ticks alone do not keep a run going`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let ticker = loop.startTicking(every: .milliseconds(1)) {}
            #expect(loop.runBriefly() == .finished)
            #expect(loop.beacon.sequence == 0)
            // And a run ends with the last of the other items.
            loop.add(RunLoopTimer(after: .milliseconds(20)) { _ in }, to: .default)
            #expect(loop.runBriefly() == .finished)
            ticker?.cancel()
        }
    }

    @Test func `ticks do not count as handled sources`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .default)
            let ticks = Counter()
            let ticker = loop.startTicking(every: .milliseconds(1)) { ticks.add() }
            #expect(loop.run(in: .default, for: .milliseconds(50), returnAfterSourceHandled: true) == .timedOut)
            #expect(ticks.value > 0)
            ticker?.cancel()
        }
    }

    @Test func `missed ticks are not made up`() throws {
        try withThread { thread in
            let ticks = Counter()
            let ticker = thread.loop.startTicking(every: .milliseconds(1)) { ticks.add() }
            #expect(eventually { ticks.value > 0 })
            let (before, after) = try thread.performAndWait {
                let before = ticks.value
                usleep(100_000)
                // One turn: only ticks that are due now.
                _ = ObservedRunLoop.current.run(in: .default, for: .zero, returnAfterSourceHandled: false)
                return (before, ticks.value)
            }
            #expect(after == before + 1)
            ticker?.cancel()
        }
    }

    @Test func `a tick is released with its ticker, its cancellation or the loop`() throws {
        let ended = Counter()
        do {
            let thread = try KeepAliveThread(name: "ticks")
            var ticker = thread.loop.startTicking(every: .milliseconds(1)) { [tracked = Tracked(ended)] in tracked.touch() }
            ticker?.cancel()
            #expect(eventually { ended.value == 1 })
            ticker = thread.loop.startTicking(every: .milliseconds(1)) { [tracked = Tracked(ended)] in tracked.touch() }
            #expect(ticker != nil)
            ticker = nil
            #expect(eventually { ended.value == 2 })
            ticker = thread.loop.startTicking(every: .milliseconds(1)) { [tracked = Tracked(ended)] in tracked.touch() }
            weak let loop = thread.loop
            thread.stop()
            thread.join()
            #expect(ended.value == 3)
            #expect(thread.loop.startTicking(every: .milliseconds(1)) {} == nil, "an ended loop does not tick")
            ticker?.cancel()
            #expect(loop != nil)
        }
    }

    @Test func `tickers can be started and cancelled from any thread`() throws {
        try withThread { thread in
            let loop = thread.loop
            let done = Counter()
            for _ in 0..<4 {
                try ObservedRunLoop.performInBackground {
                    for _ in 0..<200 {
                        let ticker = loop.startTicking(every: .milliseconds(1)) {}
                        ticker?.cancel()
                    }
                    done.add()
                }
            }
            #expect(eventually { done.value == 4 })
            try thread.performAndWait {}
        }
    }
}
