import Foundation
internal import LagActivity
import TestSupport
import Testing

@testable import LagRunLoop

/// Many sources, ports, observers and descriptors: no cost grows with the square of their number.
struct ItemScaleTests {
    /// Four times as many items take sixteen times as long if the cost is quadratic, and slightly more than four times if it is
    /// not.
    private static let mostForFourTimes = 9.0

    @Test func `the cost of adding and removing a source does not grow with their number`() throws {
        @Sendable func cost(_ count: Int) -> Double {
            costOf {
                let loop = ObservedRunLoop.current
                let sources = (0..<count).map { RunLoopSource(order: $0 % 7) {} }
                for source in sources { loop.add(source, to: .common) }
                for source in sources { loop.remove(source, from: .common) }
            }
        }
        let ratio = try onFreshThread { cost(12_000) / cost(3_000) }
        #expect(ratio < Self.mostForFourTimes)
    }

    @Test func `the cost of a source that leaves in its own callback does not grow with their number`() throws {
        @Sendable func cost(_ count: Int) -> Double {
            costOf {
                let loop = ObservedRunLoop.current
                let performed = Counter()
                for _ in 0..<count {
                    let box = Box<RunLoopSource>()
                    let source = RunLoopSource {
                        performed.add()
                        box.value?.invalidate()
                        box.value = nil
                    }
                    box.value = source
                    loop.add(source, to: .default)
                    source.signal()
                }
                #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
                #expect(performed.value == count)
            }
        }
        let ratio = try onFreshThread { cost(8_000) / cost(2_000) }
        #expect(ratio < Self.mostForFourTimes)
    }

    /// Twenty times as many descriptors: a server that accepts or closes one does not scan all others.
    @Test func `adding a descriptor costs hardly more among many`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let reading = ends[0]
        let duplicates = (0..<600).map { _ in dup(reading) }
        try #require(!duplicates.contains(-1), "600 descriptors are needed")
        defer { for descriptor in ends + duplicates { close(descriptor) } }
        @Sendable func cost(among count: Int) -> Double {
            let loop = ObservedRunLoop.current
            let others = duplicates.prefix(count).map { RunLoopDescriptorSource(descriptor: $0) { _, _ in } }
            for other in others { loop.add(other, to: .default) }
            defer { for other in others { other.invalidate() } }
            return costOf {
                for _ in 0..<100 {
                    let source = RunLoopDescriptorSource(descriptor: reading) { _, _ in }
                    loop.add(source, to: .default)
                    _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
                    source.invalidate()
                    _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
                }
            }
        }
        let ratio = try onFreshThread { cost(among: 600) / cost(among: 30) }
        #expect(ratio < 4)
    }

    /// Compared with a sorted plain list.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func `a list in pieces behaves like a sorted list`(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var list = ItemList<RunLoopSource>()
        var plain: [(item: RunLoopSource, sequence: UInt64)] = []
        var kept: (list: ItemList<RunLoopSource>, plain: [(item: RunLoopSource, sequence: UInt64)]) = (list, plain)
        for sequence in 1...6_000 as ClosedRange<UInt64> {
            // It grows, and shrinks, and grows.
            if (sequence / 1_500).isMultiple(of: 2) ? random.next() % 4 != 0 : random.next() % 4 == 0,
                !plain.isEmpty || sequence < 1_500
            {
                let source = RunLoopSource(order: Int(random.next() % 5)) {}
                list.insert(source, sequence: sequence)
                let place = plain.firstIndex { $0.item.order > source.order } ?? plain.endIndex
                plain.insert((source, sequence), at: place)
            } else if !plain.isEmpty {
                let gone = plain.remove(at: Int(random.next() % UInt64(plain.count)))
                list.remove(gone.item, sequence: gone.sequence)
            }
            guard sequence.isMultiple(of: 250) else { continue }
            #expect(list.elementsEqual(plain.map(\.item), by: ===))
            #expect(list.isEmpty == plain.isEmpty)
            let (removed, added) = list.difference(from: kept.list)
            let (now, before) = (Set(plain.map(\.sequence)), Set(kept.plain.map(\.sequence)))
            #expect(
                Set(added.map(ObjectIdentifier.init))
                    == Set(plain.filter { !before.contains($0.sequence) }.map { ObjectIdentifier($0.item) })
            )
            #expect(
                Set(removed.map(ObjectIdentifier.init))
                    == Set(kept.plain.filter { !now.contains($0.sequence) }.map { ObjectIdentifier($0.item) })
            )
            // The copy is unchanged.
            #expect(kept.list.elementsEqual(kept.plain.map(\.item), by: ===))
            kept = (list, plain)
        }
    }

    /// Postponing one of many timeouts, as a server does for each request, replans all timers.
    @Test func `setting one of many timers with tolerances costs hardly more than one of few`() throws {
        @Sendable func cost(among count: Int) -> Double {
            let loop = ObservedRunLoop.current
            let start = MonotonicTime.now + .seconds(1_000)
            let timers = (0..<count).map { number in
                RunLoopTimer(fireDate: start + .milliseconds(number), tolerance: .seconds(10_000)) { _ in }
            }
            for timer in timers { loop.add(timer, to: .default) }
            defer { for timer in timers { timer.invalidate() } }
            return costOf {
                for number in 0..<200 {
                    timers[number * 7919 % count].fireDate = start + .milliseconds(count + number)
                    _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
                }
            }
        }
        let ratio = try onFreshThread { cost(among: 32_000) / cost(among: 500) }
        #expect(ratio < 16)
    }
}
