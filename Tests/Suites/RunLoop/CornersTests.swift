import Foundation
internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// Rare cases that were wrong once.
struct CornersTests {
    /// Code that runs an empty mode in a callout is stuck in that callout, and must appear so.
    @Test func `a nested run without any items is not progress`() throws {
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

    /// A nested run with items is progress.
    @Test func `a nested run with items is progress`() throws {
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

    @Test func `a timer that its handler moves to another loop continues there`() throws {
        try withThread { first in
            try withThread { second in
                let (here, there) = (first.loop, second.loop)
                let fires = Log<Int32>()
                let timer = RunLoopTimer(after: .milliseconds(5), interval: .milliseconds(5)) { timer in
                    fires.add(ObservedRunLoop.current.thread.tid)
                    guard fires.count == 1 else { return }
                    here.remove(timer, from: .common)
                    there.add(timer, to: .common)
                    // Long enough for the other loop to see it while it is firing here.
                    usleep(50_000)
                }
                here.add(timer, to: .common)
                #expect(eventually { fires.all.contains(there.thread.tid) })
                timer.invalidate()
            }
        }
    }

    @Test func `a finished thread can be joined from any other`() throws {
        let first = try KeepAliveThread(name: "first")
        first.stop()
        #expect(first.join())
        // glibc gives the next thread the same stack, and with it the same handle.
        try withThread { second in
            let joined = try second.performAndWait { first.join() }
            #expect(joined)
        }
    }

    @Test func `a tolerance longer than the interval skips no fire points`() throws {
        try withThread { thread in
            let fires = Counter()
            let begin = MonotonicTime.now
            let timer = RunLoopTimer(after: .milliseconds(20), interval: .milliseconds(20), tolerance: .seconds(60)) { _ in
                fires.add()
            }
            thread.loop.add(timer, to: .common)
            #expect(eventually { fires.value >= 10 })
            // If the whole tolerance were used, the first fire would come after a minute.
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
