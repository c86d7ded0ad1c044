import Dispatch
import Glibc
import LagCapture
import Synchronization
import Testing

@testable import LagDetection

struct EpisodeQueueTests {
    /// A ring that two threads can share.
    // Unchecked: one thread produces and one consumes, which a ring supports.
    private final class SharedRing: @unchecked Sendable {
        private let ring: IndexRing

        init(capacity: Int) { ring = IndexRing(capacity: capacity) }

        func give(_ number: Int) -> Bool { ring.give(number) }
        func take() -> Int? { ring.take() }
    }

    @Test func `a ring returns numbers in order and refuses them when it is full`() {
        let ring = SharedRing(capacity: 4)
        #expect(ring.take() == nil)
        for round in 0..<10 {
            for number in 0..<4 { #expect(ring.give(round * 4 + number)) }
            #expect(!ring.give(99))
            for number in 0..<4 { #expect(ring.take() == round * 4 + number) }
            #expect(ring.take() == nil)
        }
    }

    @Test func `a ring between two threads loses no number and keeps their order`() async {
        let ring = SharedRing(capacity: 8)
        let count = 200_000
        async let wrong = Self.onThread {
            var next = 0
            var wrong = 0
            while next < count {
                guard let number = ring.take() else {
                    sched_yield()
                    continue
                }
                if number != next { wrong += 1 }
                next += 1
            }
            return wrong
        }
        _ = await Self.onThread {
            for number in 0..<count {
                while !ring.give(number) { sched_yield() }
            }
            return 0
        }
        #expect(await wrong == 0)
        #expect(ring.take() == nil)
    }

    @Test func `every episode circulates and has one owner at a time`() async {
        let queue = EpisodeQueue(maximumFrames: 1)!
        let rounds = 50_000
        // The consumer reads what the producer wrote before `giveReady`.
        async let seen = Self.onThread {
            var wrong = 0
            for expected in 0..<rounds {
                var index = queue.takeReady()
                while index == nil {
                    sched_yield()
                    index = queue.takeReady()
                }
                if queue.episodes[index!].facts.thresholdNanoseconds != UInt64(expected) { wrong += 1 }
                queue.episodes[index!].facts.thresholdNanoseconds = .max
                queue.giveFree(index!)
            }
            return wrong
        }
        let dirty = await Self.onThread {
            var dirty = 0
            for round in 0..<rounds {
                var index = queue.takeFree()
                while index == nil {
                    sched_yield()
                    index = queue.takeFree()
                }
                if round >= EpisodeQueue.capacity, queue.episodes[index!].facts.thresholdNanoseconds != .max { dirty += 1 }
                queue.episodes[index!].facts.thresholdNanoseconds = UInt64(round)
                queue.giveReady(index!)
            }
            return dirty
        }
        #expect(await seen == 0)
        #expect(dirty == 0)
    }

    @Test func `free episodes run out, and a returned episode can be taken again`() {
        let queue = EpisodeQueue(maximumFrames: 1)!
        let all = (0..<EpisodeQueue.capacity).compactMap { _ in queue.takeFree() }
        #expect(Set(all) == Set(0..<EpisodeQueue.capacity))
        #expect(queue.takeFree() == nil)
        queue.giveReady(all[5])
        #expect(queue.takeReady() == all[5])
        queue.giveFree(all[5])
        #expect(queue.takeFree() == all[5])
    }

    /// A separate thread: the concurrency pool may have only one.
    static func onThread(_ body: @escaping @Sendable () -> Int) async -> Int {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "test").async { continuation.resume(returning: body()) }
        }
    }
}
