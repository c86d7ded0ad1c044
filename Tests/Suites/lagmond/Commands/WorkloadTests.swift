import Glibc
internal import LagMonitor
import Synchronization
internal import TestSupport
internal import Testing

@testable import LagWorkload
@testable internal import lagmond

/// The workload on a loop that the test runs step by step.
@Suite(.serialized) struct WorkloadTests {
    private final class ManualLoop: Sendable {
        private let waiting = Mutex<[(time: MonotonicTime, work: @Sendable () -> Void)]>([])

        func schedule(_ time: MonotonicTime, _ work: @escaping @Sendable () -> Void) {
            waiting.withLock { $0.append((time, work)) }
        }

        var times: [MonotonicTime] { waiting.withLock { $0.map(\.time) } }

        /// Runs the next scheduled work immediately; returns whether there was any.
        func runNext() -> Bool {
            let work = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst().work }
            work?()
            return work != nil
        }
    }

    private func workload(_ steps: [WorkloadStep], _ loop: ManualLoop, truth: TruthLog? = nil) throws -> Workload {
        let plan = WorkloadPlan(steps: steps, threshold: .milliseconds(150))
        return Workload(plan: plan, steps: try WorkloadSteps(for: steps), truth: truth) {
            loop.schedule($0, $1)
        } submit: {
            loop.schedule(.now, $0)
        }
    }

    @Test func `only one execution is scheduled at a time and each is in the truth log`() throws {
        try ScratchDirectory.with { directory in
            let loop = ManualLoop()
            let steps = [WorkloadStep(kind: .sleep, forMilliseconds: 5, count: 2), WorkloadStep(kind: .cpu, forMilliseconds: 5)]
            let workload = try workload(steps, loop, truth: try TruthLog(path: directory.file("t")))
            workload.start()
            repeat { #expect(loop.times.count <= 1) } while loop.runNext()
            let kinds = directory.read("t").split(separator: "\n").map { $0.split(separator: "\"")[3] }
            #expect(kinds == ["sleep", "sleep", "cpu"])
        }
    }

    @Test func `a starvation is many callbacks and one truth log line`() throws {
        try ScratchDirectory.with { directory in
            let loop = ManualLoop()
            let steps = [WorkloadStep(kind: .starve, forMilliseconds: 30), WorkloadStep(kind: .idle)]
            let workload = try workload(steps, loop, truth: try TruthLog(path: directory.file("t")))
            workload.start()
            var callbacks = 0
            while directory.read("t").isEmpty, loop.runNext() { callbacks += 1 }
            // On a busy machine some callbacks take longer, and then there are fewer.
            #expect(callbacks > 1)
            #expect(callbacks <= 31)
            #expect(directory.read("t").contains("\"function\":\"computeInTurn\""))
        }
    }

    @Test func `the next execution waits for the idle gap`() throws {
        let loop = ManualLoop()
        let workload = try workload([WorkloadStep(kind: .sleep, forMilliseconds: 5, count: 2)], loop)
        workload.start()
        _ = loop.runNext()
        let end = MonotonicTime.now
        #expect(loop.times.count == 1)
        #expect(loop.times[0] > end)
        #expect(loop.times[0] <= end + WorkloadPlan.idleGap)
    }

    @Test func `no execution begins after the end`() throws {
        try ScratchDirectory.with { directory in
            let loop = ManualLoop()
            let steps = [WorkloadStep(kind: .sleep, forMilliseconds: 5, everyMilliseconds: 10)]
            let workload = try workload(steps, loop, truth: try TruthLog(path: directory.file("t")))
            workload.start()
            _ = loop.runNext()
            workload.end(grace: .seconds(10))
            while loop.runNext() {}
            #expect(directory.read("t").split(separator: "\n").count == 1)
        }
    }

    @Test func `the end waits for a running execution but not for a hang`() throws {
        try ScratchDirectory.with { directory in
            for (kind, waits) in [(WorkloadKind.sleep, true), (.hang, false)] {
                let loop = ManualLoop()
                let log = try TruthLog(path: directory.file(kind.rawValue))
                let workload = try workload([WorkloadStep(kind: kind, forMilliseconds: 300)], loop, truth: log)
                workload.start()
                let before = MonotonicTime.now
                // A hang blocks its thread forever.
                try WorkloadThread.start { _ = loop.runNext() }
                // On a busy machine the execution may already be over.
                #expect(eventually { workload.running == kind || !directory.read(kind.rawValue).isEmpty })
                let start = MonotonicTime.now
                workload.end(grace: .seconds(60))
                let end = MonotonicTime.now
                #expect((workload.running == nil) == waits, "\(kind)")
                #expect(end - start < .seconds(30), "\(kind)")
                let line = directory.read(kind.rawValue)
                #expect(line.contains("\"kind\":\"\(kind.rawValue)\""))
                let match = try #require(line.firstMatch(of: /"end_mono_us":([0-9]+)/))
                let truth = try #require(UInt64(match.1))
                #expect(truth <= end.nanoseconds / 1000)
                if waits { #expect(truth >= (before + .milliseconds(300)).nanoseconds / 1000) }
            }
        }
    }
}
