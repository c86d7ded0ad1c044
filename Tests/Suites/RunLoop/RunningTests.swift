import Foundation
internal import LagActivity
import TestSupport
import Testing

@testable import LagRunLoop

/// Every way to run, every result, and stop.
struct RunningTests {
    @Test func `an empty mode finishes at once without any activity`() throws {
        let calls = Counter()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopObserver { _, _ in calls.add() }, to: .default)
            #expect(loop.runBriefly() == .finished, "an observer alone does not keep a run going")
            loop.run()
            loop.run(until: .distantFuture)
            #expect(!loop.run(mode: .default, before: .distantFuture))
        }
        #expect(calls.value == 0)
    }

    @Test func `a run ends when its time is over`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .default)
            let begin = MonotonicTime.now
            #expect(loop.run(in: .default, for: .milliseconds(30), returnAfterSourceHandled: true) == .timedOut)
            #expect(.now - begin >= .milliseconds(30))
            let second = MonotonicTime.now
            loop.run(until: .now + .milliseconds(30))
            #expect(.now - second >= .milliseconds(30))
            #expect(loop.run(mode: .default, before: .now + .milliseconds(5)))
        }
    }

    @Test func `with zero time a run makes one turn without sleeping`() throws {
        let log = Log<LoopActivity>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .default)
            loop.add(RunLoopObserver { _, activity in log.add(activity) }, to: .default)
            #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
        }
        #expect(log.all == [.entry, .beforeTimers, .beforeSources, .exit])
    }

    @Test func `a run returns after one source on request`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let port = RunLoopPort()
            loop.add(port, to: .default)
            port.send(id: 1)
            port.send(id: 2)
            #expect(loop.runBriefly(once: true) == .handledSource)
            #expect(port.pendingMessages == 1)
            #expect(loop.run(mode: .default, before: .now + .seconds(20)))
            #expect(port.pendingMessages == 0)
        }
    }

    @Test func `the result is a handled source rather than a stop, and a stop rather than an empty mode`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.perform { loop.stop() }
            #expect(loop.runBriefly(once: true) == .handledSource)
            loop.perform { loop.stop() }
            #expect(loop.runBriefly() == .stopped)
        }
    }

    @Test func `stopping from inside ends each kind of run`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .default)
            for _ in 0..<3 {
                loop.perform { loop.stop() }
                loop.run()
                loop.perform { loop.stop() }
                loop.run(until: .distantFuture)
            }
        }
    }

    @Test(arguments: [false, true])
    func `stopping from outside wakes a sleeping loop`(withDescriptor: Bool) throws {
        let pipe = Pipe()
        let results = Log<RunLoopResult>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .default)
            if withDescriptor {
                let descriptor = pipe.fileHandleForReading.fileDescriptor
                loop.add(RunLoopDescriptorSource(descriptor: descriptor) { _, _ in }, to: .default)
            }
            for _ in 0..<20 {
                let stopped = Counter()
                try ObservedRunLoop.performInBackground {
                    _ = eventually { loop.isWaiting }
                    stopped.add()
                    loop.stop()
                }
                results.add(loop.runBriefly())
                #expect(stopped.value == 1)
            }
        }
        #expect(results.all == Array(repeating: .stopped, count: 20))
    }

    @Test func `a stop right before the sleep is not missed`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .default)
            for activity in [RunLoopActivities.entry, .beforeTimers, .beforeSources, .beforeWaiting] {
                let stopper = RunLoopObserver(activities: activity, repeats: false) { _, _ in loop.stop() }
                loop.add(stopper, to: .default)
                #expect(loop.runBriefly() == .stopped)
            }
        }
    }

    @Test func `stopping a loop that does not run has no effect`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .default)
            loop.stop()
            #expect(loop.run(in: .default, for: .milliseconds(5), returnAfterSourceHandled: false) == .timedOut)
        }
    }

    @Test func `stopping ends only the innermost run`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .common)
            loop.addCommonMode(.tracking)
            loop.perform {
                loop.perform { loop.stop() }
                log.add("inner \(loop.runBriefly(.tracking))")
                loop.perform {
                    log.add("outer goes on")
                    loop.stop()
                }
            }
            log.add("outer \(loop.runBriefly())")
        }
        #expect(log.all == ["inner stopped", "outer goes on", "outer stopped"])
    }

    @Test func `a nested run leaves the sources of the outer run signalled`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let source = RunLoopSource {
                log.add("outer source")
                loop.stop()
            }
            loop.add(source, to: .default)
            loop.add(RunLoopPort(), to: .tracking)
            let observer = RunLoopObserver(activities: .beforeWaiting, repeats: false) { _, _ in
                source.signalAndWake()
                #expect(loop.run(in: .tracking, for: .milliseconds(10), returnAfterSourceHandled: false) == .timedOut)
                log.add("inner ended")
            }
            loop.add(observer, to: .default)
            #expect(loop.runBriefly() == .stopped)
        }
        #expect(log.all == ["inner ended", "outer source"])
    }

    @Test func `removing the last source from outside finishes the run`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let port = RunLoopPort()
            loop.add(port, to: .default)
            try ObservedRunLoop.performInBackground {
                _ = eventually { loop.isWaiting }
                port.invalidate()
            }
            #expect(loop.runBriefly() == .finished)
        }
    }

    @Test func `a wake makes a sleeping loop run a turn`() throws {
        try withThread { thread in
            let turns = Counter()
            thread.loop.add(RunLoopObserver(activities: .afterWaiting) { _, _ in turns.add() }, to: .default)
            #expect(eventually { thread.loop.isWaiting })
            let before = turns.value
            thread.loop.wakeUp()
            #expect(eventually { turns.value > before })
        }
    }

    @Test func `the loop polls before it sleeps only after several early wakes, until late ones follow`() {
        let canSpin = ProcessInfo.processInfo.activeProcessorCount > 1
        var policy = SpinPolicy()
        for _ in 0..<3 { policy.recordSleep(nanoseconds: 1_000) }
        #expect(!policy.shouldSpin)
        for _ in 0..<100 { policy.recordSleep(nanoseconds: 1_000) }
        #expect(policy.shouldSpin == canSpin)
        policy.recordSleep(nanoseconds: 1_000_000)
        #expect(policy.shouldSpin == canSpin, "a single late wake does not end a burst")
        for _ in 0..<2 { policy.recordSleep(nanoseconds: 1_000_000) }
        #expect(!policy.shouldSpin)
    }
}
