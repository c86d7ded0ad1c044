internal import LagModel
import Testing

@testable import LagDetection

struct LatenessGuardTests {
    /// A wait from 1000 ms on, in milliseconds.
    private func evaluate(
        due: UInt64,
        ended: UInt64,
        delay: UInt64 = 0,
        stolen: UInt64 = 0,
        uncounted: UInt64 = 0,
        sleptAgain: Bool = false
    ) -> ProcessPause? {
        var lateness = LatenessGuard()
        let processPause = lateness.evaluate(
            from: 1000 * millisecond,
            due: due * millisecond,
            endedAt: ended * millisecond,
            evidence: {
                .init(
                    runDelayNanoseconds: delay.saturatingProduct(millisecond),
                    stolenNanoseconds: stolen.saturatingProduct(millisecond),
                    uncountedStolenNanoseconds: uncounted.saturatingProduct(millisecond),
                    sleptAgain: sleptAgain
                )
            }
        )
        #expect(lateness.processPauses == (processPause?.atLeast ?? 0 == 0 ? 0 : 1))
        #expect(lateness.pausedNanoseconds == processPause?.atLeast ?? 0)
        return processPause
    }

    private func processPause(to: UInt64, atLeast: UInt64, atMost: UInt64) -> ProcessPause {
        ProcessPause(
            from: 1000 * millisecond,
            to: to * millisecond,
            atLeast: atLeast * millisecond,
            atMost: atMost * millisecond
        )
    }

    @Test func `a wait that ends within the tolerance is on time`() {
        #expect(evaluate(due: 1050, ended: 1050) == nil)
        #expect(evaluate(due: 1050, ended: 1075) == nil)
        #expect(evaluate(due: 1050, ended: 1010) == nil)
    }

    @Test func `a wait beyond the tolerance may have been stopped for its whole length`() {
        #expect(evaluate(due: 1050, ended: 1076) == processPause(to: 1076, atLeast: 26, atMost: 76))
    }

    @Test func `a long wait has the same tolerance as another`() {
        #expect(evaluate(due: 2000, ended: 2025) == nil)
        #expect(evaluate(due: 2000, ended: 2026) == processPause(to: 2026, atLeast: 26, atMost: 1026))
    }

    @Test(arguments: [(1, 5), (9, 5), (10, 5), (20, 10), (40, 20), (50, 25), (51, 25)] as [(UInt64, UInt64)])
    func `a short wait has a smaller tolerance`(length: UInt64, tolerance: UInt64) {
        #expect(evaluate(due: 1000 + length, ended: 1000 + length + tolerance) == nil)
        let late = tolerance + 1
        let found = evaluate(due: 1000 + length, ended: 1000 + length + late)
        #expect(found == processPause(to: 1000 + length + late, atLeast: late, atMost: length + late))
    }

    @Test func `a wait without a deadline is never late`() {
        var lateness = LatenessGuard()
        #expect(lateness.evaluate(from: 50, due: .max, endedAt: .max - 1, evidence: { .init() }) == nil)
    }

    @Test func `a wait whose deadline is past is measured from its beginning`() {
        #expect(evaluate(due: 100, ended: 1005) == nil)
        #expect(evaluate(due: 100, ended: 1006) == processPause(to: 1006, atLeast: 6, atMost: 6))
    }

    @Test func `waiting for a processor is not a process pause`() {
        // 200 ms late, of which 25 are tolerated.
        #expect(evaluate(due: 1050, ended: 1250, delay: 175) == nil)
        #expect(evaluate(due: 1050, ended: 1250, delay: 174) == processPause(to: 1250, atLeast: 26, atMost: 76))
        #expect(evaluate(due: 1050, ended: 1250, delay: .max) == nil)
    }

    /// The kernel's count for a watchdog that waited for 50 ms in a group with 20 ms of a processor per second.
    @Test func `waiting for the CPU quota is waiting for a processor`() {
        let due = 1_050_000_000 as UInt64
        for delay: UInt64 in [391_500_000, 895_400_000, 949_900_000] {
            var lateness = LatenessGuard()
            let evidence = LatenessGuard.Evidence(runDelayNanoseconds: delay)
            let ended = due + delay + 200_000
            #expect(lateness.evaluate(from: 1_000_000_000, due: due, endedAt: ended, evidence: { evidence }) == nil)
            #expect(lateness.processPauses == 0)
        }
    }

    @Test func `waiting for the hypervisor is not a process pause`() {
        #expect(evaluate(due: 1010, ended: 1022, stolen: 10, uncounted: 10) == nil)
        #expect(evaluate(due: 1010, ended: 1022, uncounted: 10) == nil, "it counts in hundredths of a second")
        #expect(evaluate(due: 1050, ended: 1250, stolen: 100) == nil)
        #expect(evaluate(due: 1050, ended: 1250, stolen: .max, uncounted: .max) == nil)
        // Stolen time of other processors: the process may have been stopped nevertheless, and perhaps all the time.
        #expect(evaluate(due: 1050, ended: 1250, stolen: 30, uncounted: 10) == processPause(to: 1250, atLeast: 170, atMost: 250))
        #expect(evaluate(due: 1050, ended: 1250, delay: 100, stolen: 50) == nil)
    }

    /// Linux 6.18 sometimes counts a stop as run-queue delay.
    @Test func `a thread that slept once more was stopped, whatever the scheduler counted`() {
        #expect(evaluate(due: 1050, ended: 1250, delay: 200, sleptAgain: true) == processPause(to: 1250, atLeast: 0, atMost: 250))
        #expect(
            evaluate(due: 1050, ended: 1250, delay: 50, sleptAgain: true) == processPause(to: 1250, atLeast: 150, atMost: 250)
        )
        #expect(
            evaluate(due: 1050, ended: 1250, stolen: 200, sleptAgain: true) == processPause(to: 1250, atLeast: 0, atMost: 250)
        )
        #expect(evaluate(due: 1050, ended: 1060, sleptAgain: true) == nil, "it is on time")
    }

    @Test func `a clock that goes back makes no wait late`() {
        #expect(evaluate(due: 1050, ended: 10) == nil)
    }

    @Test func `evidence is read only if a wait was late`() {
        var lateness = LatenessGuard()
        var asked = 0
        func evidence() -> LatenessGuard.Evidence {
            asked += 1
            return .init()
        }
        _ = lateness.evaluate(from: 0, due: 50 * millisecond, endedAt: 75 * millisecond, evidence: evidence)
        #expect(asked == 0)
        _ = lateness.evaluate(from: 0, due: 50 * millisecond, endedAt: 75 * millisecond + 1, evidence: evidence)
        #expect(asked == 1)
    }

    @Test func `times near the maximum cause no trap`() {
        for begun: UInt64 in [0, 1, .max] {
            for due: UInt64 in [0, 1, .max - 1, .max] {
                for ended: UInt64 in [0, 1, .max] {
                    for (delay, stolen) in [(0, 0), (.max, 0), (0, .max), (.max, .max)] as [(UInt64, UInt64)] {
                        var lateness = LatenessGuard()
                        let evidence = LatenessGuard.Evidence(runDelayNanoseconds: delay, stolenNanoseconds: stolen)
                        let processPause = lateness.evaluate(from: begun, due: due, endedAt: ended, evidence: { evidence })
                        #expect(processPause.map { $0.atLeast <= $0.atMost && $0.atMost <= $0.to - $0.from } ?? true)
                    }
                }
            }
        }
    }
}
