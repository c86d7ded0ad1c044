import LagMonitor
import LagMonitorTestKit
import Testing

@Suite struct StallSequenceTests {
    private static func kit() throws -> TestMonitor {
        var configuration = StallMonitorConfiguration()
        configuration.limits = .none
        configuration.recurrence = nil
        return try TestMonitor(configuration: configuration)
    }

    /// Stalls with increasing durations, so that their order shows.
    private static func stall(_ kit: TestMonitor, _ times: Int) {
        for number in 0..<times { kit.loop("main").work(for: .milliseconds(200 + number)) }
    }

    private static func ids(_ iterator: StallSequence.Iterator) async -> [StallID] {
        var (iterator, ids) = (iterator, [StallID]())
        while let stall = await iterator.next() { ids.append(stall.id) }
        return ids
    }

    @Test func `every iteration receives every record in order and ends with the monitor`() async throws {
        let kit = try Self.kit()
        let stalls = kit.stalls
        let (first, second, other) = (stalls.makeAsyncIterator(), stalls.makeAsyncIterator(), kit.stalls.makeAsyncIterator())
        Self.stall(kit, 20)
        kit.stop()
        let expected = kit.records.map(\.id)
        #expect(expected.count == 20)
        #expect(await Self.ids(first) == expected)
        #expect(await Self.ids(second) == expected)
        #expect(await Self.ids(other) == expected)
        #expect(stalls.missed == 0)
    }

    @Test func `an iteration receives what is reported after it started`() async throws {
        let kit = try Self.kit()
        Self.stall(kit, 2)
        let iterator = kit.stalls.makeAsyncIterator()
        Self.stall(kit, 1)
        kit.stop()
        #expect(await Self.ids(iterator) == kit.records.suffix(1).map(\.id))
    }

    @Test func `a waiting task receives a record and ends with the monitor`() async throws {
        let kit = try Self.kit()
        let iterator = kit.stalls.makeAsyncIterator()
        async let ids = Self.ids(iterator)
        await Task.yield()
        Self.stall(kit, 3)
        kit.stop()
        #expect(await ids.count == 3)
    }

    @Test func `records beyond the buffer are counted and not delivered`() async throws {
        let kit = try Self.kit()
        let stalls = kit.stalls
        let slow = stalls.makeAsyncIterator()
        Self.stall(kit, StallSequence.capacity + 7)
        #expect(stalls.missed == 7)
        kit.stop()
        #expect(await Self.ids(slow) == kit.records.prefix(StallSequence.capacity).map(\.id))
        #expect(kit.stalls.missed == 0)
    }

    @Test func `a cancelled task ends only its own iteration`() async throws {
        let kit = try Self.kit()
        let other = kit.stalls.makeAsyncIterator()
        let stalls = kit.stalls
        let task = Task {
            for await _ in stalls {}
            return Task.isCancelled
        }
        await Task.yield()
        task.cancel()
        #expect(await task.value)
        Self.stall(kit, 1)
        kit.stop()
        #expect(await Self.ids(other).count == 1)
    }

    @Test func `an abandoned iteration is released`() async throws {
        let subscriptions = StallSubscriptions()
        do {
            let iterator = StallSequence(subscriptions).makeAsyncIterator()
            #expect(subscriptions.count == 1)
            _ = iterator
        }
        #expect(subscriptions.count == 0)
        subscriptions.deliver(.sample())
        subscriptions.finish()
    }

    @Test func `a monitor without stalls ends its iterations too`() async throws {
        let monitor = StallMonitor()
        let iterator = monitor.stalls.makeAsyncIterator()
        try monitor.start()
        monitor.stop()
        #expect(await Self.ids(iterator).isEmpty)
    }
}
