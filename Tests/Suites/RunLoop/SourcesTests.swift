import Foundation
internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// Manual sources.
struct ManualSourceTests {
    @Test func `a signal alone does not wake a sleeping loop`() throws {
        try withThread { thread in
            let performed = Counter()
            let source = RunLoopSource { performed.add() }
            thread.loop.add(source, to: .default)
            try thread.performAndWait {}  // so that the wake caused by adding is over
            #expect(eventually { thread.loop.isWaiting })
            source.signal()
            usleep(50_000)
            #expect(performed.value == 0)
            #expect(source.isSignalled)
            thread.loop.wakeUp()
            #expect(eventually { performed.value == 1 })
            #expect(!source.isSignalled)
        }
    }

    @Test func `a signal without a wake is performed on the next turn`() throws {
        try withThread { thread in
            let performed = Counter()
            let source = RunLoopSource { performed.add() }
            thread.loop.add(source, to: .default)
            let before = try thread.performAndWait {
                source.signal()
                return performed.value
            }
            #expect(before == 0)
            #expect(eventually { performed.value == 1 })
        }
    }

    @Test func `several signals cause one call`() throws {
        let performed = Counter()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let source = RunLoopSource { performed.add() }
            loop.add(source, to: .default)
            for _ in 0..<5 { source.signal() }
            #expect(loop.runBriefly(once: true) == .handledSource)
            #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
        }
        #expect(performed.value == 1)
    }

    @Test func `a source of lower order is performed first`() throws {
        let log = Log<Int>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            for order in [3, 1, 2] {
                let source = RunLoopSource(order: order) { log.add(order) }
                loop.add(source, to: .default)
                source.signal()
            }
            #expect(loop.runBriefly(once: true) == .handledSource)
            #expect(log.all == [1], "a run that returns after one source leaves the others signalled")
            #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
        }
        #expect(log.all == [1, 2, 3])
    }

    @Test func `schedule and cancel are called for each mode`() throws {
        let log = Log<String>()
        try withThread { thread in
            let source = RunLoopSource(
                schedule: { _, mode in log.add("+\(mode)") },
                cancel: { _, mode in log.add("-\(mode)") },
                perform: {}
            )
            thread.loop.add(source, to: .default)
            thread.loop.add(source, to: .default)
            thread.loop.add(source, to: .tracking)
            thread.loop.remove(source, from: .default)
            source.invalidate()
            source.invalidate()
            #expect(!source.isValid)
        }
        #expect(log.all == ["+default", "+tracking", "-default", "-tracking"])
    }

    @Test func `a source signalled before it is added is performed`() throws {
        let performed = Counter()
        try onFreshThread {
            let source = RunLoopSource { performed.add() }
            source.signal()
            ObservedRunLoop.current.add(source, to: .default)
            #expect(ObservedRunLoop.current.runBriefly(once: true) == .handledSource)
        }
        #expect(performed.value == 1)
    }

    @Test func `no signal is lost among several threads`() throws {
        try withThread { thread in
            let performed = Counter()
            let source = RunLoopSource { performed.add() }
            thread.loop.add(source, to: .default)
            // Each side waits for the other: a lost wake would hang here.
            for round in 1...20_000 {
                source.signalAndWake()
                var spins = 0
                while performed.value < round {
                    spins += 1
                    if spins > 1_000 { sched_yield() }
                    guard spins < 50_000_000 else { break }
                }
                try #require(performed.value == round)
            }
        }
    }
}

/// Ports and descriptors.
struct PortTests {
    @Test func `two threads exchange messages both ways`() throws {
        let log = Log<String>()
        try withThread { first in
            try withThread { second in
                let firstPort = RunLoopPort { _, message in
                    log.add("first got \(message.id) on \(ObservedRunLoop.current === first.loop)")
                }
                let secondPort = RunLoopPort { port, message in
                    log.add("second got \(message.id) '\(String(decoding: message.payload, as: UTF8.self))'")
                    message.replyPort?.send(id: 102, replyTo: port)
                }
                first.loop.add(firstPort, to: .default)
                second.loop.add(secondPort, to: .default)
                #expect(eventually { second.loop.isWaiting })
                secondPort.send(id: 101, payload: Array("III".utf8), replyTo: firstPort)
                #expect(eventually { log.count == 2 })
            }
        }
        #expect(log.all == ["second got 101 'III'", "first got 102 on true"])
    }

    @Test func `messages keep their order and wait for the loop`() throws {
        let log = Log<Int>()
        try withThread { thread in
            let port = RunLoopPort { _, message in log.add(message.id) }
            for id in 0..<500 { port.send(id: id) }
            #expect(port.pendingMessages == 500)
            thread.loop.add(port, to: .default)
            for id in 500..<1_000 { port.send(id: id) }
            #expect(eventually { log.count == 1_000 })
        }
        #expect(log.all == Array(0..<1_000))
    }

    @Test func `many messages back and forth are all delivered`() throws {
        try withThread { first in
            try withThread { second in
                let last = Counter()
                let answering = RunLoopPort { _, message in message.replyPort?.send(id: message.id + 1) }
                let asking = RunLoopPort { port, message in
                    last.add()
                    if message.id < 20_000 { answering.send(id: message.id, replyTo: port) }
                }
                first.loop.add(asking, to: .default)
                second.loop.add(answering, to: .default)
                answering.send(id: 0, replyTo: asking)
                #expect(eventually { last.value == 20_000 })
            }
        }
    }

    @Test func `an invalid port refuses messages`() throws {
        let port = RunLoopPort()
        port.send(id: 1)
        port.invalidate()
        #expect(!port.send(id: 2))
        #expect(port.pendingMessages == 0)
    }

    @Test func `a readable descriptor wakes the loop`() throws {
        let received = Log<UInt8>()
        let pipe = Pipe()
        try withThread { thread in
            let source = RunLoopDescriptorSource(descriptor: pipe.fileHandleForReading.fileDescriptor) { source, events in
                var byte: UInt8 = 0
                #expect(events.contains(.readable))
                if read(source.descriptor, &byte, 1) == 1 { received.add(byte) }
            }
            thread.loop.add(source, to: .default)
            try thread.performAndWait {}
            #expect(eventually { thread.loop.isWaiting })
            try pipe.fileHandleForWriting.write(contentsOf: [1, 2, 3] as [UInt8])
            #expect(eventually { received.count == 3 }, "level-triggered: called until everything is read")
            #expect(source.watchError == nil)
            source.invalidate()
        }
        #expect(received.all == [1, 2, 3])
    }

    @Test func `writable and hangup events are reported`() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (near, far) = (ends[0], ends[1])
        defer { close(near) }
        let log = Log<RunLoopDescriptorSource.Events>()
        try withThread { thread in
            let writable = RunLoopDescriptorSource(descriptor: near, events: .writable) { source, events in
                log.add(events)
                source.invalidate()
            }
            thread.loop.add(writable, to: .default)
            #expect(eventually { log.count == 1 })
            let readable = RunLoopDescriptorSource(descriptor: near) { source, events in
                log.add(events)
                source.invalidate()
            }
            thread.loop.add(readable, to: .default)
            close(far)
            #expect(eventually { log.count == 2 })
        }
        #expect(log.all.first == .writable)
        #expect(log.all.last?.contains([.readable, .hangup]) == true)
    }

    @Test func `a regular file is always ready, and a bad descriptor is reported as such`() throws {
        let descriptor = open("/proc/self/exe", O_RDONLY)
        defer { close(descriptor) }
        let calls = Counter()
        try withThread { thread in
            let file = RunLoopDescriptorSource(descriptor: descriptor) { source, _ in
                if calls.add() == 3 { source.invalidate() }
            }
            thread.loop.add(file, to: .default)
            #expect(eventually { calls.value == 3 })
            let bad = RunLoopDescriptorSource(descriptor: 1_000_000) { _, _ in calls.add() }
            thread.loop.add(bad, to: .default)
            try thread.performAndWait {}
            #expect(bad.watchError == EBADF)
        }
        #expect(calls.value == 3)
    }

    @Test func `a descriptor number that is closed and reused is watched again`() throws {
        let served = Counter()
        try withThread { thread in
            for _ in 0..<5 {
                var ends: [Int32] = [0, 0]
                try #require(pipe(&ends) == 0)
                let source = RunLoopDescriptorSource(descriptor: ends[0]) { source, _ in
                    served.add()
                    source.invalidate()
                }
                let before = served.value
                thread.loop.add(source, to: .default)
                var byte: UInt8 = 1
                _ = write(ends[1], &byte, 1)
                #expect(eventually { served.value == before + 1 })
                close(ends[0])
                close(ends[1])
            }
        }
        #expect(served.value == 5)
    }

    @Test func `a wake reaches a loop that sleeps on descriptors`() throws {
        let pipe = Pipe()
        try withThread { thread in
            let source = RunLoopDescriptorSource(descriptor: pipe.fileHandleForReading.fileDescriptor) { _, _ in }
            thread.loop.add(source, to: .default)
            for number in 0..<200 {
                let answer = try thread.performAndWait { number }
                #expect(answer == number)
            }
            #expect(eventually { thread.loop.isWaiting })
            let last = try thread.performAndWait { 7 }
            #expect(last == 7)
        }
    }
}
