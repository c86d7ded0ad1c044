internal import LagActivity
import TestSupport
import Testing

@testable import LagRunLoop

/// What a loop reports about waiting work while it is in a callout.
struct WaitingWorkTests {
    @Test func `the last callout in the first turn of a run has no work waiting`() throws {
        let seen = Log<PendingWork>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.perform { seen.add(loop.signals.pendingWork) }
            let source = RunLoopSource { seen.add(loop.signals.pendingWork) }
            loop.add(source, to: .default)
            source.signal()
            _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
        }
        // While the block ran, the source waited.
        #expect(seen.all == [.pending, .none])
    }

    @Test func `blocks wait behind a running block`() throws {
        let seen = Log<PendingWork>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            for _ in 0..<3 { loop.perform { seen.add(loop.signals.pendingWork) } }
            _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
        }
        #expect(seen.all == [.pending, .pending, .none])
    }

    @Test func `sources and messages wait behind one that is being handled`() throws {
        let seen = Log<PendingWork>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            for _ in 0..<2 {
                let source = RunLoopSource { seen.add(loop.signals.pendingWork) }
                loop.add(source, to: .default)
                source.signal()
            }
            _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
            let ports = (0..<2).map { _ in RunLoopPort { _, _ in seen.add(loop.signals.pendingWork) } }
            for port in ports { loop.add(port, to: .default) }
            ports[0].send(id: 1)
            ports[0].send(id: 2)
            _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
            ports[0].send(id: 3)
            ports[1].send(id: 4)
            _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
        }
        #expect(seen.all == [.pending, .none, .pending, .none, .pending, .none])
    }

    @Test func `work that waits outside a nested run still waits after it`() throws {
        let seen = Log<PendingWork>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: RunLoopMode("waiting.nested"))
            loop.perform {
                _ = loop.run(in: RunLoopMode("waiting.nested"), for: .zero, returnAfterSourceHandled: false)
                seen.add(loop.signals.pendingWork)
            }
            loop.perform {}
            _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
        }
        #expect(seen.all == [.pending])
    }

    @Test func `a nested run that handles all work leaves none waiting`() throws {
        let seen = Log<PendingWork>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .default)
            loop.perform {
                _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
                seen.add(loop.signals.pendingWork)
            }
            _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
        }
        #expect(seen.all == [.none])
    }
}
