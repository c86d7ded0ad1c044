import Foundation
internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// One loop per thread, created by its first use and ended with the thread.
struct IdentityTests {
    @Test func `a thread has one loop, and different threads have different loops`() throws {
        let first = try onFreshThread { (ObservedRunLoop.current, ObservedRunLoop.current) }
        #expect(first.0 === first.1)
        let (mine, theirs) = try onFreshThread {
            let mine = ObservedRunLoop.current
            return (mine, try onFreshThread { ObservedRunLoop.current })
        }
        #expect(mine !== theirs)
        #expect(mine.thread.tid != theirs.thread.tid)
    }

    @Test func `a loop is current only on its own thread`() throws {
        try withThread { thread in
            #expect(!thread.loop.isCurrent)
            let (isCurrent, loop) = try thread.performAndWait {
                (ObservedRunLoop.current.isCurrent, ObservedRunLoop.current)
            }
            #expect(isCurrent)
            #expect(loop === thread.loop)
        }
    }

    @Test func `the main loop is reachable from any thread`() throws {
        let main = try onFreshThread { ObservedRunLoop.main }
        #expect(main === ObservedRunLoop.main)
        #expect(main.name == "main")
        #expect(main.thread.tid == getpid())
        #expect(try onFreshThread { !ObservedRunLoop.main.isCurrent })
    }

    @Test func `the loop has the name of its thread`() throws {
        #expect(try onFreshThread { ObservedRunLoop.current.name } == "test")
        let thread = try KeepAliveThread(name: "a name longer than fifteen bytes")
        #expect(thread.loop.name == "a name longer than fifteen bytes")
        thread.stop()
    }

    @Test func `the loop ends with its thread`() throws {
        let ended = Counter()
        let cancelled = Counter()
        let loop = try onFreshThread {
            let loop = ObservedRunLoop.current
            let tracked = Tracked(ended)
            loop.add(RunLoopTimer(after: .seconds(1_000)) { _ in tracked.touch() }, to: .default)
            loop.add(RunLoopObserver { _, _ in tracked.touch() }, to: .common)
            loop.add(RunLoopSource(cancel: { _, _ in cancelled.add() }, perform: { tracked.touch() }), to: .default)
            loop.perform { tracked.touch() }
            return loop
        }
        #expect(eventually { loop.isFinished })
        #expect(loop.beacon.activity == .finished)
        #expect(ended.value == 1, "the captures of the items are released")
        #expect(cancelled.value == 1)
        #expect(!loop.perform {}, "nothing can be submitted any more")
        #expect(!loop.add(RunLoopPort(), to: .default))
        #expect(throws: RunLoopError.loopFinished(name: "test")) { try loop.performAndWait {} }
    }

    @Test func `the loop object is released when its thread ends`() throws {
        weak let loop = try onFreshThread { ObservedRunLoop.current }
        #expect(eventually { loop == nil })
    }

    @Test func `a loop that never ran is not running`() throws {
        #expect(try onFreshThread { ObservedRunLoop.current.beacon.activity } == .notRunning)
        #expect(try onFreshThread { ObservedRunLoop.current.currentMode } == nil)
    }

    @Test func `running the loop of another thread ends the process with a message`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let thread = try KeepAliveThread(name: "somebody")
            thread.loop.run()
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("only its own thread may run run loop 'somebody'"))
    }
}
