internal import Testing

@testable internal import LagRemote

/// Times are injected; nothing sleeps.
struct TurnCoverageTests {
    @Test func `an action requires that no iteration can have gone unseen since the previous check`() {
        let coverage = TurnCoverage()
        #expect(!coverage.isWanted)
        coverage.record(true, at: 5)
        // Nothing is known about the time before.
        #expect(coverage.isComplete(at: 10) == false && coverage.isWanted)
        coverage.record(false, at: 12)
        coverage.record(true, at: 15)
        #expect(coverage.isComplete(at: 20) == false)
        coverage.record(true, at: 25)
        #expect(coverage.isComplete(at: 30) == true)
        coverage.record(true, at: 35)
        coverage.record(false, at: 36)
        #expect(coverage.isComplete(at: 40) == false)
    }

    /// A debugger traces the thread, or another of our threads has stopped it.
    @Test func `a sample about which nothing is known does not prove that the loop did not iterate`() {
        let coverage = TurnCoverage()
        coverage.record(false, at: 5)
        _ = coverage.isComplete(at: 10)
        coverage.record(nil, at: 12)
        #expect(coverage.lastGap == 12)
        coverage.record(true, at: 15)
        // For an action, other samples count.
        #expect(coverage.lastGap == 12 && coverage.isComplete(at: 20) == true)
        coverage.record(false, at: 25)
        #expect(coverage.lastGap == 25)
    }

    /// The watch for iterations begins after the sample that has raised the doubt.
    @Test func `an interval in which the watch began is not covered`() {
        #expect(!TurnCoverage.isCovered(since: 10, by: 11, isContinuous: true))
        #expect(TurnCoverage.isCovered(since: 20, by: 11, isContinuous: true))
        #expect(TurnCoverage.isCovered(since: 10, by: 11, isContinuous: false))
    }

    @Test func `a loop is confirmed by several rests or by a long one`() {
        let often = RestConfirmation()
        // The same rest again is none.
        for sample in 1...20 as ClosedRange<UInt64> { often.recordRest(runs: sample / 4, at: sample) }
        #expect(!often.isConfirmed)
        for sample in 21...40 as ClosedRange<UInt64> { often.recordRest(runs: sample / 4, at: sample) }
        #expect(often.isConfirmed)
        let long = RestConfirmation()
        long.recordRest(runs: 1, at: 100)
        #expect(long.isYoung(wokenAt: 101) && !long.isYoung(wokenAt: 100 + RestConfirmation.longNanoseconds))
        long.recordRest(runs: 1, at: 99 + RestConfirmation.longNanoseconds)
        #expect(!long.isConfirmed)
        long.recordRest(runs: 1, at: 100 + RestConfirmation.longNanoseconds)
        #expect(long.isConfirmed)
    }

    @Test func `rests at a place that the loop has left do not confirm it`() {
        let moved = RestConfirmation()
        for rest in 1...7 as ClosedRange<UInt64> { moved.recordRest(runs: rest, at: rest) }
        moved.restart()
        for rest in 8...14 as ClosedRange<UInt64> { moved.recordRest(runs: rest, at: rest) }
        #expect(!moved.isConfirmed)
        moved.recordRest(runs: 15, at: 15)
        #expect(moved.isConfirmed)
    }

    @Test func `two short rests are not a long one`() {
        let second: UInt64 = 1_000_000_000
        let short = RestConfirmation()
        short.recordRest(runs: 1, at: 0)
        short.recordRest(runs: 2, at: 6 * second)
        #expect(!short.isConfirmed && !short.isYoung(wokenAt: 6 * second))
        short.recordRest(runs: 2, at: 10 * second)
        // It may have been elsewhere.
        short.interrupt()
        short.recordRest(runs: 2, at: 12 * second)
        #expect(!short.isConfirmed)
        short.recordRest(runs: 2, at: 17 * second)
        #expect(short.isConfirmed)
    }

    @Test func `a stopped sampler proves nothing`() {
        let coverage = TurnCoverage()
        for time in UInt64(1)...3 {
            coverage.record(true, at: time * 10)
            _ = coverage.isComplete(at: time * 10 + 1)
        }
        #expect(coverage.isComplete(at: 40) == nil)
    }

    /// On a busy machine the sampling thread may have no processor for longer than a check's interval.
    @Test func `a check that comes before the next sample leaves the time since the last one to the next check`() {
        func isComplete(_ last: Bool?) -> Bool? {
            let coverage = TurnCoverage()
            coverage.record(true, at: 5)
            _ = coverage.isComplete(at: 10)
            #expect(coverage.isComplete(at: 20) == nil)
            coverage.record(last, at: 25)
            return coverage.isComplete(at: 30)
        }
        #expect(isComplete(true) == true)
        #expect(isComplete(false) == false)
        // It was sampled, but could not be stopped.
        #expect(isComplete(nil) == false)
    }
}
