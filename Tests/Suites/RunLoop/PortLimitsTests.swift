import Foundation
internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// Which messages a port refuses, and which it keeps.
struct PortLimitsTests {
    @Test func `a port of an ended loop refuses messages until it is added to another loop`() throws {
        let handled = Log<Int>()
        let port = RunLoopPort { _, message in handled.add(message.id) }
        let ending = try KeepAliveThread(name: "ending")
        ending.loop.add(port, to: RunLoopMode("ports.never"))
        #expect(port.send(id: 1))
        ending.stop()
        ending.join()
        #expect(port.isValid)
        for id in 2..<100 { #expect(!port.send(id: id)) }
        #expect(port.pendingMessages == 1)
        try withThread { thread in
            #expect(thread.loop.add(port, to: .default))
            #expect(port.send(id: 100))
            #expect(eventually { handled.count == 2 })
            #expect(handled.all == [1, 100], "what had been taken is delivered, what was refused is not")
        }
    }

    @Test func `a port accepts messages up to its capacity`() throws {
        let handled = Log<Int>()
        let port = RunLoopPort(capacity: 10) { _, message in handled.add(message.id) }
        #expect(port.capacity == 10)
        #expect((0..<15).map { port.send(id: $0) } == (0..<15).map { $0 < 10 })
        #expect(port.pendingMessages == 10)
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(port, to: .default)
            #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
            #expect(port.send(id: 15))
        }
        #expect(handled.all == Array(0..<10))
        #expect(port.pendingMessages == 1)
    }
}
