internal import Testing

@testable import LagWorkload
@testable internal import lagmond

/// The due times of the steps, without a clock.
@Suite struct WorkloadPlanTests {
    private typealias Entry = (kind: WorkloadKind, due: Int, length: Int)

    /// Plays a plan as the main thread would: an execution starts when it is due and takes its length.
    private func play(_ steps: [WorkloadStep], upTo end: Int, threshold: Int = 150) -> [Entry] {
        var plan = WorkloadPlan(steps: steps, threshold: .milliseconds(threshold))
        var last: (time: Duration, kind: WorkloadKind)?
        var entries: [Entry] = []
        while let execution = plan.next(after: last), execution.due < .milliseconds(end) {
            entries.append((execution.kind, whole(execution.due), whole(execution.length)))
            last = (execution.due + execution.length, execution.kind)
        }
        return entries
    }

    private func whole(_ duration: Duration) -> Int { Int((duration / .milliseconds(1)).rounded()) }

    @Test func `a step without parameters runs once at the start`() {
        let entries = play([WorkloadStep(kind: .cpu)], upTo: 100_000)
        #expect(entries.map(\.due) == [0])
        #expect(entries.map(\.length) == [WorkloadStep.defaultForMilliseconds])
    }

    @Test func `every, count and start define a grid of due times`() {
        let step = WorkloadStep(kind: .sleep, forMilliseconds: 10, everyMilliseconds: 100, count: 3, startMilliseconds: 50)
        #expect(play([step], upTo: 100_000).map(\.due) == [50, 150, 250])
    }

    @Test func `every without count repeats until the end`() {
        let step = WorkloadStep(kind: .sleep, forMilliseconds: 10, everyMilliseconds: 100)
        #expect(play([step], upTo: 1000).map(\.due) == Array(stride(from: 0, to: 1000, by: 100)))
    }

    @Test func `count without every repeats immediately after an idle gap`() {
        let step = WorkloadStep(kind: .cpu, forMilliseconds: 100, count: 3)
        #expect(play([step], upTo: 10_000).map(\.due) == [0, 120, 240])
    }

    @Test func `overlapping steps run in the order of their due times`() {
        let steps = [
            WorkloadStep(kind: .cpu, forMilliseconds: 500, startMilliseconds: 0),
            WorkloadStep(kind: .sleep, forMilliseconds: 100, startMilliseconds: 300),
            WorkloadStep(kind: .read, forMilliseconds: 100, startMilliseconds: 200),
            WorkloadStep(kind: .lock, forMilliseconds: 100, startMilliseconds: 200),
        ]
        let entries = play(steps, upTo: 10_000)
        #expect(entries.map(\.kind) == [.cpu, .read, .lock, .sleep])
        #expect(entries.map(\.due) == [0, 520, 640, 760])
    }

    @Test func `a delayed step keeps its grid`() {
        let steps = [
            WorkloadStep(kind: .cpu, forMilliseconds: 250),
            WorkloadStep(kind: .sleep, forMilliseconds: 10, everyMilliseconds: 100, count: 5, startMilliseconds: 100),
        ]
        #expect(play(steps, upTo: 10_000).map(\.due) == [0, 270, 300, 330, 400, 500])
    }

    @Test func `two executions always have a gap between them`() {
        let steps = WorkloadKind.allCases.filter { $0 != .hang }.map {
            WorkloadStep(kind: $0, forMilliseconds: 130, everyMilliseconds: 70, count: 4)
        }
        let entries = play(steps, upTo: 1_000_000)
        for (earlier, later) in zip(entries, entries.dropFirst()) {
            #expect(later.due - (earlier.due + earlier.length) >= 4)
        }
    }

    @Test func `a short step becomes many callbacks far below the threshold`() {
        let step = WorkloadStep(kind: .short, forMilliseconds: 200, everyMilliseconds: 1000, count: 2)
        let entries = play([step], upTo: 100_000)
        #expect(entries.count == 40)
        #expect(entries.allSatisfy { $0.length * 10 <= 150 })
        #expect(entries.first?.due == 0)
        #expect(entries[19].due == 190)
        #expect(entries[20].due == 1000)
        let strict = play([step], upTo: 100_000, threshold: 20)
        #expect(strict.allSatisfy { $0.length <= 2 })
    }

    @Test func `an empty plan has no execution`() {
        var plan = WorkloadPlan(steps: [], threshold: .milliseconds(150))
        #expect(plan.next(after: nil) == nil)
    }
}
