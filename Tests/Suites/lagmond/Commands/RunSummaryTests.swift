internal import LagMonitor
internal import Testing

@testable internal import lagmond

@Suite struct RunSummaryTests {
    private static let always = "stalls=4 reported=3 dropped=2 suppressed=1"

    private var statistics: StallMonitorStatistics {
        var statistics = StallMonitorStatistics()
        statistics.stalls = 4
        statistics.reported = 3
        statistics.dropped = 2
        statistics.suppressed = 1
        return statistics
    }

    @Test func `the first four counts are shown even if they are zero`() {
        #expect(RunSummary(StallMonitorStatistics()).description == "stalls=0 reported=0 dropped=0 suppressed=0")
        #expect(RunSummary(statistics).description == Self.always)
    }

    @Test func `other counts follow if they are not zero`() {
        var statistics = statistics
        statistics.recurring = 11
        statistics.dismissed = 5
        statistics.pauses.processPauses = 6
        statistics.pauses.paused = .microseconds(7_900)
        statistics.pauses.throttled = .milliseconds(2)
        statistics.pauses.suspensions = 8
        statistics.pauses.suspended = .seconds(9)
        statistics.pauses.clockSteps = 10
        let rest =
            " recurring=11 dismissed=5 process_pauses=6 stopped_ms=7 throttled_ms=2 suspensions=8 suspended_ms=9000 clock_steps=10"
        #expect(RunSummary(statistics).description == Self.always + rest)
    }

    @Test func `the summary counts lines that wait on disk`() {
        #expect(RunSummary(statistics, kept: 3).description == Self.always + " kept=3")
        #expect(RunSummary(statistics, kept: 0).description == Self.always)
    }

    @Test func `lines that the output lost at its end count as dropped`() {
        var statistics = StallMonitorStatistics()
        statistics.dropped = 2
        #expect(RunSummary(statistics, lost: 3).description == "stalls=0 reported=0 dropped=5 suppressed=0")
    }

    @Test func `stalls without a line are those that are counted nowhere else`() {
        var statistics = StallMonitorStatistics()
        (statistics.stalls, statistics.reported, statistics.dropped, statistics.suppressed) = (9, 3, 2, 1)
        #expect(statistics.stallsWithoutLine == 3)
        statistics.reported = 8
        #expect(statistics.stallsWithoutLine == 0)
    }

    @Test func `other counts that are zero are omitted`() {
        var statistics = statistics
        statistics.pauses.clockSteps = 1
        #expect(RunSummary(statistics).description == Self.always + " clock_steps=1")
    }
}
