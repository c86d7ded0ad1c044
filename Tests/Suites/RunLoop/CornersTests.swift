import Foundation
internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// What is rare, and was wrong once.
struct CornersTests {
    /// Whoever polls an empty mode in a callout is stuck in that callout, and must look so.
    @Test func `a nested run that finds nothing to do is no progress`() throws {
        try withThread { thread in
            let loop = thread.loop
            let words = try thread.performAndWait {
                let before = loop.beacon.sequence
                for _ in 0..<100 { _ = loop.run(mode: RunLoopMode("corners.empty"), before: .distantFuture) }
                return (before, loop.beacon.sequence)
            }
            #expect(words.0 == words.1)
        }
    }

    /// A nested run that did run is progress.
    @Test func `a nested run that ran is progress`() throws {
        try withThread { thread in
            let loop = thread.loop
            let words = try thread.performAndWait {
                let before = loop.beacon.sequence
                _ = loop.run(in: .default, for: .milliseconds(1), returnAfterSourceHandled: false)
                return (before, loop.beacon.sequence)
            }
            #expect(words.1 > words.0)
        }
    }

    @Test func `a timer moved to another loop by its handler goes on there`() throws {
        try withThread { first in
            try withThread { second in
                let (here, there) = (first.loop, second.loop)
                let fires = Log<Int32>()
                let timer = RunLoopTimer(after: .milliseconds(5), interval: .milliseconds(5)) { timer in
                    fires.add(ObservedRunLoop.current.thread.tid)
                    guard fires.count == 1 else { return }
                    here.remove(timer, from: .common)
                    there.add(timer, to: .common)
                    // Long enough for the other loop to have looked at it while it is firing here.
                    usleep(50_000)
                }
                here.add(timer, to: .common)
                #expect(eventually { fires.all.contains(there.thread.tid) })
                timer.invalidate()
            }
        }
    }

    @Test func `a thread that is gone can be joined from any other`() throws {
        let first = try KeepAliveThread(name: "first")
        first.stop()
        #expect(first.join())
        // glibc gives the next thread the same stack, and with it the same handle.
        try withThread { second in
            let joined = try second.performAndWait { first.join() }
            #expect(joined)
        }
    }

    @Test func `a tolerance beyond the interval costs no fire points`() throws {
        try withThread { thread in
            let fires = Counter()
            let begin = MonotonicTime.now
            let timer = RunLoopTimer(after: .milliseconds(20), interval: .milliseconds(20), tolerance: .seconds(60)) { _ in
                fires.add()
            }
            thread.loop.add(timer, to: .common)
            #expect(eventually { fires.value >= 10 })
            // With the whole tolerance used, the first would come after a minute.
            #expect(MonotonicTime.now - begin < .seconds(60))
            timer.invalidate()
        }
    }

    @Test func `a source signalled before it is added is performed`() throws {
        try withThread { thread in
            for _ in 0..<20 {
                let performed = Counter()
                let source = RunLoopSource(schedule: { _, _ in usleep(1_000) }, perform: { performed.add() })
                source.signal()
                thread.loop.add(source, to: .common)
                #expect(eventually { performed.value == 1 })
                source.invalidate()
            }
        }
    }
}
