import Foundation
internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// Items of equal order take turns, even if each run serves one source and returns, as in `while loop.run(mode:before:)`.
struct FairnessTests {
    @Test func `sources of equal order take turns`() throws {
        let counts = try onFreshThread {
            let loop = ObservedRunLoop.current
            let counts = (0..<3).map { _ in Counter() }
            let sources = counts.map { count in
                let box = Box<RunLoopSource>()
                let source = RunLoopSource {
                    count.add()
                    box.value?.signal()
                }
                box.value = source
                loop.add(source, to: .default)
                source.signal()
                return (box, source)
            }
            for _ in 0..<300 { #expect(loop.run(mode: .default, before: .distantFuture)) }
            for (box, _) in sources { box.value = nil }
            return counts.map(\.value)
        }
        #expect(counts == [100, 100, 100])
    }

    @Test func `a source of lower order still comes first`() throws {
        let log = Log<Int>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let sources = [2, 1, 1].map { order in RunLoopSource(order: order) { log.add(order) } }
            for source in sources { loop.add(source, to: .default) }
            for _ in 0..<2 {
                for source in sources { source.signal() }
                for _ in 0..<3 { #expect(loop.run(mode: .default, before: .distantFuture)) }
            }
        }
        #expect(log.all == [1, 1, 2, 1, 1, 2])
    }

    @Test func `a busy port leaves half of the runs to another port`() throws {
        let counts = try onFreshThread {
            let loop = ObservedRunLoop.current
            let counts = (0..<2).map { _ in Counter() }
            for count in counts {
                let port = RunLoopPort { port, _ in
                    count.add()
                    port.send(id: 1)
                }
                loop.add(port, to: .default)
                port.send(id: 1)
                port.send(id: 1)
            }
            for _ in 0..<300 { #expect(loop.run(mode: .default, before: .distantFuture)) }
            return counts.map(\.value)
        }
        #expect(counts == [150, 150])
    }

    /// In one long run, each turn serves all; the backlog of one port does not delay the others' messages.
    @Test func `messages of ports of equal order are handled alternately within a turn`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let ports = ["a", "b", "late"].map { name in
                RunLoopPort(order: name == "late" ? 1 : 0) { _, message in log.add("\(name)\(message.id)") }
            }
            for port in ports { loop.add(port, to: .default) }
            for id in 1...4 { ports[0].send(id: id) }
            ports[2].send(id: 1)
            ports[1].send(id: 1)
            ports[1].send(id: 2)
            #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
        }
        #expect(log.all == ["a1", "b1", "a2", "b2", "a3", "a4", "late1"])
    }

    @Test(arguments: [true, false])
    func `two ready descriptors share the runs equally`(_ oneAtATime: Bool) throws {
        var pipes: [[Int32]] = [[0, 0], [0, 0]]
        for index in pipes.indices {
            try #require(pipe(&pipes[index]) == 0)
            var byte: UInt8 = 1
            try #require(write(pipes[index][1], &byte, 1) == 1)
        }
        defer { for ends in pipes { for end in ends { close(end) } } }
        let descriptors = pipes.map { $0[0] }
        let counts = try onFreshThread {
            let loop = ObservedRunLoop.current
            let counts = (0..<2).map { _ in Counter() }
            for (descriptor, count) in zip(descriptors, counts) {
                let source = RunLoopDescriptorSource(descriptor: descriptor) { _, _ in
                    count.add()
                    if !oneAtATime, counts.map(\.value).reduce(0, +) >= 300 { loop.stop() }
                }
                loop.add(source, to: .default)
            }
            if oneAtATime {
                for _ in 0..<300 { #expect(loop.run(mode: .default, before: .distantFuture)) }
            } else {
                #expect(loop.runBriefly() == .stopped)
            }
            return counts.map(\.value)
        }
        #expect(counts.reduce(0, +) >= 300 && abs(counts[0] - counts[1]) <= 2, "\(counts)")
    }
}
