import Foundation
internal import LagActivity
import TestSupport
import Testing

@testable import LagRunLoop

/// Descriptors that are closed, reused, or removed from the loop.
struct ClosedDescriptorTests {
    /// The kernel continues to watch a file with an open duplicate, under a number that is closed.
    @Test func `a closed descriptor with a duplicate does not keep the loop awake`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let duplicate = dup(ends[0])
        defer { for descriptor in [duplicate, ends[1]] { close(descriptor) } }
        let (calls, turns) = (Counter(), Counter())
        try withThread { [ends] thread in
            let source = RunLoopDescriptorSource(descriptor: ends[0]) { source, _ in
                calls.add()
                source.invalidate()
                close(source.descriptor)
            }
            thread.loop.add(source, to: .default)
            var byte: UInt8 = 1
            try #require(write(ends[1], &byte, 1) == 1)
            #expect(eventually { calls.value == 1 })
            #expect(eventually { thread.loop.isWaiting })
            thread.loop.add(RunLoopObserver(activities: .beforeWaiting) { _, _ in turns.add() }, to: .default)
            usleep(50_000)
        }
        #expect(calls.value == 1)
        // Those caused by adding the observer and ending the thread.
        #expect(turns.value < 50)
    }

    @Test func `a source added again with another file under its number watches that file`() throws {
        var (first, second): ([Int32], [Int32]) = ([0, 0], [0, 0])
        try #require(pipe(&first) == 0 && pipe(&second) == 0)
        defer { for descriptor in first + [second[1]] { close(descriptor) } }
        let calls = Counter()
        try withThread { [first, second] thread in
            let source = RunLoopDescriptorSource(descriptor: first[0]) { source, _ in
                calls.add()
                var byte: UInt8 = 0
                _ = read(source.descriptor, &byte, 1)
            }
            thread.loop.add(source, to: .default)
            try thread.performAndWait {}
            try thread.performAndWait {
                thread.loop.remove(source, from: .default)
                dup2(second[0], first[0])
                close(second[0])
                thread.loop.add(source, to: .default)
            }
            var byte: UInt8 = 1
            try #require(write(second[1], &byte, 1) == 1)
            #expect(eventually { calls.value == 1 })
        }
    }

    /// The captures of a source's handler may be released with it, and remove other items from the loop.
    @Test func `a source that is invalidated between two runs may be released in the second`() throws {
        final class Connection: Sendable {
            let timeout: RunLoopTimer
            init(_ loop: ObservedRunLoop) {
                timeout = RunLoopTimer(after: .seconds(60)) { _ in }
                loop.add(timeout, to: .default)
            }
            deinit { timeout.invalidate() }
        }
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for descriptor in ends { close(descriptor) } }
        let reading = ends[0]
        let results = try onFreshThread {
            let loop = ObservedRunLoop.current
            func use() {
                let connection = Connection(loop)
                let source = RunLoopDescriptorSource(descriptor: reading) { _, _ in _ = connection }
                loop.add(source, to: .default)
                _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
                source.invalidate()
            }
            use()
            return (0..<2).map { _ in loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) }
        }
        #expect(results.last == .finished)
    }

    @Test func `of two sources for one descriptor the other continues after one is removed`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for descriptor in ends { close(descriptor) } }
        let calls = Counter()
        try withThread { [ends] thread in
            let leaving = RunLoopDescriptorSource(descriptor: ends[0]) { _, _ in }
            let staying = RunLoopDescriptorSource(descriptor: ends[0]) { source, _ in
                calls.add()
                source.invalidate()
            }
            // One is in a mode that never runs: removing it must not end the other's watch.
            thread.loop.add(leaving, to: RunLoopMode("never"))
            thread.loop.add(staying, to: .default)
            try thread.performAndWait {}
            leaving.invalidate()
            try thread.performAndWait {}
            var byte: UInt8 = 1
            try #require(write(ends[1], &byte, 1) == 1)
            #expect(eventually { calls.value == 1 })
        }
    }
}
