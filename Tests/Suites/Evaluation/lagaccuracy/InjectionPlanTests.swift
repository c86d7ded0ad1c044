import LagWorkload
import TestSupport
import Testing

@testable import lagaccuracy

struct InjectionPlanTests {
    private let plan = InjectionPlan(seed: 1, condition: .calm, count: 200)

    @Test func `a seed always gives the same plan and another seed a different one`() {
        #expect(plan.stalls == InjectionPlan(seed: 1, condition: .calm, count: 200).stalls)
        #expect(plan.stalls != InjectionPlan(seed: 2, condition: .calm, count: 200).stalls)
        #expect(plan.stalls != InjectionPlan(seed: 1, condition: .busy, count: 200).stalls)
    }

    @Test func `the random streams of conditions and purposes are distinct`() {
        var seen: Set<UInt64> = []
        for condition in Condition.allCases {
            for purpose: UInt64 in 0...2 {
                var random = SeededGenerator(seed: 1, condition: condition, purpose: purpose)
                for _ in 0..<2000 { seen.insert(random.next()) }
            }
        }
        #expect(seen.count == 5 * 3 * 2000)
    }

    @Test func `every kind of stall is equally frequent`() {
        let counts = Dictionary(grouping: plan.stalls, by: \.kind).mapValues(\.count)
        #expect(counts.count == 10)
        #expect(counts.values.allSatisfy { $0 == 20 })
        #expect(Set(WorkloadKind.allCases).subtracting(counts.keys) == [.short, .idle])
    }

    @Test func `lengths are between 20 ms and 3 s with many near the threshold`() {
        let lengths = plan.stalls.filter { $0.kind != .starve }.map(\.lengthMilliseconds)
        #expect(lengths.allSatisfy { (20...3000).contains($0) })
        #expect(lengths.count { (110...260).contains($0) } >= 50)
        #expect(lengths.contains { $0 < 60 })
        #expect(lengths.contains { $0 > 1500 })
    }

    @Test func `starvation lengths are around the starvation threshold`() {
        let lengths = plan.stalls.filter { $0.kind == .starve }.map(\.lengthMilliseconds)
        #expect(lengths.contains { $0 < 1000 })
        #expect(lengths.contains { $0 > 1050 })
    }

    @Test func `every place of the loop is used`() {
        #expect(Set(plan.stalls.map(\.place)) == Set(Place.allCases))
    }

    @Test func `the short form covers every kind and place in less than 14 seconds`() {
        let plans = Condition.allCases.map { InjectionPlan(shortFor: $0, seed: 1) }
        let stalls = plans.flatMap(\.stalls)
        #expect(Set(stalls.map(\.kind)) == Set(InjectionPlan.kinds))
        #expect(Set(stalls.map(\.place)) == Set(Place.allCases))
        #expect(plans.allSatisfy { plan in plan.stalls.contains { $0.lengthMilliseconds < 149 } })
        #expect(plans.reduce(0) { $0 + $1.plannedMilliseconds } < 14_000)
    }
}
