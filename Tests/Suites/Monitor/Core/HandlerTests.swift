import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import LagMonitor

extension MonitorTests {
    @Suite struct HandlerTests {
        private final class Overlap: Sendable {
            let inside = Atomic<Int>(0)
            let most = Atomic<Int>(0)

            func around(_ body: () -> Void) {
                let count = inside.add(1, ordering: .acquiringAndReleasing).newValue
                most.max(count, ordering: .relaxed)
                body()
                inside.subtract(1, ordering: .acquiringAndReleasing)
            }
        }

        private func record(_ sequence: UInt64) -> StallRecord {
            var record = StallRecord(
                id: StallID(startRealtimeNanoseconds: 0, randomHigh: 0, randomLow: sequence),
                startRealtimeNanoseconds: 0,
                startMonotonicNanoseconds: 0,
                durationNanoseconds: 1,
                thresholdNanoseconds: 1,
                phase: .end,
                kind: .callout,
                loop: "loop",
                threadID: 1
            )
            record.sequence = sequence
            return record
        }

        @Test func `a handler receives stalls one at a time and in order`() throws {
            let watched = try Watched()
            defer { watched.end() }
            let (collected, overlap) = (CollectedRecords(), Overlap())
            let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
            watched.monitor.onStall(queue: queue) { record in
                overlap.around {
                    usleep(400_000)
                    collected.add(record)
                }
            }
            for _ in 0..<4 { watched.stallUntilFound(milliseconds: 200) }
            #expect(eventually { collected.records.count == 4 })
            #expect(overlap.most.load(ordering: .relaxed) == 1)
            #expect(collected.records.map(\.sequence) == [1, 2, 3, 4])
            #expect(
                collected.records.allSatisfy { record in record.frames.contains { $0.symbol?.contains("blockForTheTest") == true }
                }
            )
        }

        @Test func `the number of records that wait for a stuck queue is bounded`() {
            let queue = DispatchQueue(label: "stuck")
            queue.suspend()
            let collected = CollectedRecords()
            let handler = StallHandler(queue: queue) { collected.add($0) }
            for number in 0..<1000 { handler.deliver(record(UInt64(number))) }
            #expect(handler.missed == 1000 - UInt64(StallHandler.capacity))
            queue.resume()
            #expect(eventually { collected.records.count == StallHandler.capacity })
            #expect(collected.records.map(\.sequence) == (0..<UInt64(StallHandler.capacity)).map { $0 })
            handler.deliver(record(7777))
            #expect(eventually { collected.records.last?.sequence == 7777 })
        }

        @Test func `a cancelled handler receives nothing more and releases its captures`() {
            let queue = DispatchQueue(label: "stuck")
            queue.suspend()
            weak var released: CollectedRecords?
            let handler: StallHandler
            do {
                let collected = CollectedRecords()
                released = collected
                handler = StallHandler(queue: queue) { collected.add($0) }
            }
            handler.deliver(record(1))
            #expect(released != nil)
            handler.cancel()
            #expect(released == nil)
            handler.deliver(record(2))
            queue.resume()
            queue.sync {}
            #expect(handler.missed == 0)
        }

        @Test func `a cancelled handler is released`() throws {
            let monitor = StallMonitor()
            weak var first: StallHandler?
            do { first = monitor.onStall(queue: .main) { _ in } }
            #expect(first != nil)
            first?.cancel()
            let second = monitor.onStall(queue: .main) { _ in }
            #expect(first == nil)
            second.cancel()
        }

        @Test func `every handler receives every stall`() throws {
            let watched = try Watched()
            defer { watched.end() }
            let (one, two, gone) = (CollectedRecords(), CollectedRecords(), CollectedRecords())
            watched.monitor.onStall(queue: .global()) { one.add($0) }
            watched.monitor.onStall(queue: .global()) { two.add($0) }
            watched.monitor.onStall(queue: .global()) { gone.add($0) }.cancel()
            watched.stall()
            #expect(eventually { one.records.count == 1 && two.records.count == 1 })
            #expect(one.records == two.records)
            #expect(gone.records.isEmpty)
        }
    }
}
