import Dispatch
import Foundation
internal import LagActivity
import LagRunLoop
import Synchronization
import TestSupport
import Testing

/// Scopes that expect to block: they count as a rest, whatever happens inside them.
struct ExpectedBlocksTests {
    private struct Failure: Error, Equatable {}

    @Test func `the beacon is expected in the scope, and the work after it is a new stretch`() throws {
        try withThread { thread in
            let loop = thread.loop
            try thread.performAndWait {
                let beacon = loop.beacon
                let outer = beacon.activity
                let (woke, callout) = (beacon.wokeNanoseconds, beacon.calloutNanoseconds)
                let inside = loop.expectingBlock {
                    usleep(2_000)
                    return beacon.activity
                }
                #expect(inside == .expected)
                #expect(beacon.activity == outer && outer.isWorking)
                #expect(beacon.wokeNanoseconds >= woke + 2_000_000)
                #expect(beacon.calloutNanoseconds >= callout + 2_000_000)
            }
        }
    }

    @Test func `an error keeps its type and leaves the scope`() throws {
        try withThread { thread in
            let loop = thread.loop
            try thread.performAndWait {
                let outer = loop.beacon.activity
                do throws(Failure) {
                    try loop.expectingBlock { () throws(Failure) in throw Failure() }
                    Issue.record("nothing was thrown")
                } catch {
                    #expect(error == Failure())
                }
                #expect(loop.beacon.activity == outer)
                #expect(loop.expectingBlock { loop.beacon.activity } == .expected)
            }
        }
    }

    @Test func `only the outermost scope counts`() throws {
        try withThread { thread in
            let loop = thread.loop
            try thread.performAndWait {
                let outer = loop.beacon.activity
                loop.expectingBlock {
                    let sequence = loop.beacon.sequence
                    loop.expectingBlock { #expect(loop.beacon.activity == .expected) }
                    loop.beacon.expectingBlock { #expect(loop.beacon.activity == .expected) }
                    #expect(loop.beacon.activity == .expected)
                    #expect(loop.beacon.sequence == sequence)
                }
                #expect(loop.beacon.activity == outer)
            }
        }
    }

    @Test func `a run inside the scope is watched and returns to the scope`() throws {
        try withThread { thread in
            let loop = thread.loop
            let log = Log<String>()
            try thread.performAndWait {
                loop.expectingBlock {
                    let woke = loop.beacon.wokeNanoseconds
                    loop.perform {
                        log.add(loop.beacon.activity.name)
                        // It leaves the scope, so the inner run begins after a rest.
                        log.add(loop.beacon.wokeNanoseconds > woke ? "new" : "old")
                        loop.expectingBlock { log.add(loop.beacon.activity.name) }
                        log.add(loop.beacon.activity.name)
                    }
                    _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
                    log.add(loop.beacon.activity.name)
                    _ = loop.run(mode: RunLoopMode("expected.empty"), before: .distantFuture)
                    log.add(loop.beacon.activity.name)
                }
                log.add(loop.beacon.activity.isWorking ? "working" : "idle")
            }
            #expect(log.all == ["before_sources", "new", "expected", "before_sources", "expected", "expected", "working"])
        }
    }

    @Test func `a run after the scope returns to the callout`() throws {
        try withThread { thread in
            let loop = thread.loop
            try thread.performAndWait {
                let outer = loop.beacon.activity
                loop.expectingBlock {}
                _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
                #expect(loop.beacon.activity == outer)
            }
        }
    }

    @Test func `on another thread or outside a run the body just runs`() throws {
        try withThread { thread in
            let loop = thread.loop
            try thread.performAndWait {}
            #expect(eventually { loop.isWaiting })
            usleep(10_000)
            let sequence = loop.beacon.sequence
            #expect(loop.expectingBlock { loop.beacon.activity } == .waiting, "on another thread")
            #expect(loop.beacon.sequence == sequence)
        }
        try onFreshThread {
            let loop = ObservedRunLoop.current
            #expect(loop.expectingBlock { loop.beacon.activity } == .notRunning, "not in a run")
            #expect(loop.beacon.sequence == 0)
            let inside = loop.expectingBlock {
                let seen = Log<LoopActivity>()
                loop.perform { seen.add(loop.beacon.activity) }
                _ = loop.runBriefly()
                return seen.all
            }
            #expect(inside == [.beforeSources])
            #expect(loop.beacon.activity == .notRunning)
        }
    }

    // Scopes of loops that can only be pinged: ExpectedBlockScope.

    @Test func `a scope on a serial queue belongs to the queue`() {
        let queue = DispatchQueue(label: "expecting")
        let (watched, other) = (PingedQueue(queue), PingedQueue(DispatchQueue(label: "other")))
        func inScopes() -> [LoopActivity] {
            let scopes = ExpectedBlockScope.here
            for scope in scopes { scope.begin() }
            defer { for scope in scopes { scope.end() } }
            return [watched.beacon.activity, other.beacon.activity]
        }
        #expect(queue.sync { inScopes() } == [.expected, .notRunning])
        // It must answer pings again: `notRunning` would be a loop that has stopped.
        #expect(watched.beacon.activity == .waiting)
        #expect(inScopes() == [.waiting, .notRunning])
    }

    @Test func `of several scopes the last one to end restores the activity`() {
        let beacon = ActivityBeacon()
        let scope = ExpectedBlockScope(beacon) { true }
        scope.begin()
        scope.begin()
        scope.end()
        #expect(beacon.activity == .expected)
        scope.end()
        #expect(beacon.activity == .waiting)
        beacon.publish(.finished)
        scope.begin()
        scope.end()
        #expect(beacon.activity == .finished)
    }

    @Test func `a released scope is no longer queried`() {
        let asked = Atomic<Int>(0)
        weak var gone: ExpectedBlockScope?
        do {
            let scope = ExpectedBlockScope(ActivityBeacon()) {
                asked.add(1, ordering: .relaxed)
                return false
            }
            gone = scope
            _ = ExpectedBlockScope.here
        }
        #expect(gone == nil)
        let before = asked.load(ordering: .relaxed)
        #expect(before >= 1)
        _ = ExpectedBlockScope.here
        #expect(asked.load(ordering: .relaxed) == before)
    }
}
