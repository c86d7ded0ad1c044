internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// The eleven steps of a run in their order, and the beacon's activity in each.
struct ActivitiesTests {
    /// Records every activity, and checks that the beacon was published first.
    private func observe(_ loop: ObservedRunLoop, _ log: Log<String>) {
        let observer = RunLoopObserver { _, activity in
            log.add(activity.name)
            #expect(loop.beacon.activity == activity)
        }
        loop.add(observer, to: .default)
    }

    @Test func `a run with a sleep and a timer publishes all activities in order`() throws {
        let log = Log<String>()
        let result = try onFreshThread {
            let loop = ObservedRunLoop.current
            observe(loop, log)
            loop.add(RunLoopTimer(after: .milliseconds(20)) { _ in log.add("timer") }, to: .default)
            return loop.runBriefly()
        }
        #expect(
            log.all == [
                "entry", "before_timers", "before_sources", "before_waiting", "after_waiting", "timer", "exit",
            ]
        )
        #expect(result == .finished)
    }

    @Test func `sources are handled before the sleep, and the next turn sleeps`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            observe(loop, log)
            let source = RunLoopSource { log.add("source") }
            loop.add(source, to: .default)
            loop.add(RunLoopTimer(after: .milliseconds(300)) { _ in loop.stop() }, to: .default)
            source.signal()
            #expect(loop.runBriefly() == .stopped)
        }
        // After a handled source, the loop only polls, without the activities of a sleep, like CFRunLoop.
        #expect(
            log.all == [
                "entry", "before_timers", "before_sources", "source",
                "before_timers", "before_sources", "before_waiting", "after_waiting", "exit",
            ]
        )
    }

    @Test func `a ready port after source work skips the sleep`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            observe(loop, log)
            let port = RunLoopPort { _, _ in
                log.add("port")
                loop.stop()
            }
            let source = RunLoopSource {
                log.add("source")
                port.send(id: 1)
            }
            loop.add(port, to: .default)
            loop.add(source, to: .default)
            source.signal()
            #expect(loop.runBriefly() == .stopped)
        }
        #expect(log.all == ["entry", "before_timers", "before_sources", "source", "port", "exit"])
    }

    @Test func `a port that is ready at once also skips the sleep`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            observe(loop, log)
            let port = RunLoopPort { _, _ in log.add("port") }
            loop.add(port, to: .default)
            port.send(id: 1)
            #expect(loop.runBriefly(once: true) == .handledSource)
        }
        #expect(log.all == ["entry", "before_timers", "before_sources", "port", "exit"])
    }

    @Test func `a port that wakes the loop is handled after the sleep`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            observe(loop, log)
            let port = RunLoopPort { _, _ in log.add("port") }
            loop.add(port, to: .default)
            try ObservedRunLoop.performInBackground {
                _ = eventually { loop.isWaiting }
                port.send(id: 1)
            }
            #expect(loop.runBriefly(once: true) == .handledSource)
        }
        #expect(
            log.all == ["entry", "before_timers", "before_sources", "before_waiting", "after_waiting", "port", "exit"]
        )
    }

    @Test func `submitted work runs before manual sources, and their submitted work runs right after them`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let source = RunLoopSource {
                log.add("source")
                loop.perform { log.add("submitted by the source") }
            }
            loop.add(source, to: .default)
            source.signal()
            loop.perform { log.add("submitted before") }
            #expect(loop.runBriefly(once: true) == .handledSource)
        }
        #expect(log.all == ["submitted before", "source", "submitted by the source"])
    }

    @Test func `the beacon is waiting during the sleep and not running after the run`() throws {
        let seen = Log<LoopActivity>()
        let loop = try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .default)
            try ObservedRunLoop.performInBackground {
                if eventually({ loop.isWaiting }) { seen.add(loop.beacon.activity) }
                loop.stop()
            }
            #expect(loop.runBriefly() == .stopped)
            seen.add(loop.beacon.activity)
            #expect(loop.beacon.mode == 0)
            return loop
        }
        #expect(seen.all == [.waiting, .notRunning])
        #expect(eventually { loop.beacon.activity == .finished })
    }

    @Test func `every callout is a separate stretch`() throws {
        let sequences = Log<UInt64>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            for _ in 0..<3 {
                loop.perform {
                    sequences.add(loop.beacon.sequence)
                    #expect(loop.beacon.activity == .beforeSources)
                }
            }
            #expect(loop.runBriefly() == .finished)
        }
        #expect(Set(sequences.all).count == 3, "the sequence increases between callouts of one step")
    }

    @Test func `a nested run restores the outer activity as a new stretch`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.perform {
                let before = loop.beacon.sequence
                #expect(loop.beacon.activity == .beforeSources)
                loop.perform(modes: [.tracking]) {}
                #expect(loop.runBriefly(.tracking) == .finished)
                #expect(loop.beacon.activity == .beforeSources)
                #expect(loop.beacon.sequence > before)
            }
            #expect(loop.runBriefly() == .finished)
        }
    }

    @Test func `each activity mask has the value that CFRunLoop uses`() {
        let raw = LoopActivity.allCases.map { RunLoopActivities($0).rawValue }
        #expect(raw == [0, 1, 2, 4, 32, 0, 64, 128, 0, 0])
    }
}
