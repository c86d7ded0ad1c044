import Testing

@testable import lagaccuracy

struct TruthTests {
    private static let ms: UInt64 = 1_000_000

    private func pulse(_ asked: UInt64, _ stopped: UInt64, _ continued: UInt64, _ running: UInt64) -> Pulse {
        Pulse(asked: asked * Self.ms, stopped: stopped * Self.ms, continued: continued * Self.ms, running: running * Self.ms)
    }

    /// A stall from 1000 to 1500 ms, seen by the loop from 999 to 1503 ms.
    private func truth(kind: String = "cpu", pulses: [Pulse] = []) -> Truth {
        var report = TargetReport()
        report.injected = [
            .init(
                kind: kind,
                place: .timer,
                before: 999 * Self.ms,
                begin: 1000 * Self.ms,
                end: 1500 * Self.ms,
                after: 1503 * Self.ms
            )
        ]
        return Truth.all(in: report, pulses: pulses)[0]
    }

    @Test func withoutStopsTheTruthIsWhatTheCalloutRead() {
        let truth = truth()
        #expect((truth.least, truth.most, truth.longest) == (500 * Self.ms, 500 * Self.ms, 504 * Self.ms))
        #expect(truth.due == 1150 * Self.ms)
        #expect(truth.trouble == .callout)
        #expect(truth.label == "cpu in timer")
    }

    @Test func aStopIsSubtractedWithinWhatIsKnownOfIt() {
        let truth = truth(pulses: [pulse(1098, 1100, 1400, 1401)])
        #expect(truth.least == (500 - 303) * Self.ms)
        #expect(truth.most == (500 - 300) * Self.ms)
        #expect(truth.longest == (504 - 300) * Self.ms)
        // 100 ms before the stop, 50 after it.
        #expect(truth.due == 1450 * Self.ms)
    }

    @Test func aStopThatOnlyOverlapsIsSubtractedByThatPart() {
        #expect(truth(pulses: [pulse(800, 800, 1100, 1100)]).most == 400 * Self.ms)
        #expect(truth(pulses: [pulse(1400, 1400, 2000, 2000)]).most == 400 * Self.ms)
        #expect(truth(pulses: [pulse(1500, 1500, 2000, 2000)]).most == 500 * Self.ms)
    }

    @Test func aStallThatIsNothingButAStopIsNone() {
        let truth = truth(pulses: [pulse(1001, 1002, 1480, 1481)])
        #expect(!truth.isReportable)
        #expect(!truth.isAbove)
    }

    @Test func severalStopsAddUp() {
        let truth = truth(pulses: [pulse(1300, 1300, 1400, 1400), pulse(1050, 1050, 1150, 1150)])
        #expect(truth.most == 300 * Self.ms)
        #expect(truth.due == 1250 * Self.ms)
    }

    @Test func aStarvationHasItsOwnThreshold() {
        let truth = truth(kind: "starve")
        #expect(truth.trouble == .starvation)
        #expect(!truth.isReportable)
        #expect(truth.due == 2000 * Self.ms)
    }

    @Test func aGapBetweenReadingsIsTheKernels() {
        var report = TargetReport()
        report.gaps = [.init(begin: 100 * Self.ms, end: 400 * Self.ms)]
        let truth = Truth.all(in: report, pulses: [])[0]
        #expect(!truth.isInjected)
        #expect(truth.isAbove)
        #expect(!Truth.all(in: report, pulses: [pulse(110, 110, 390, 390)])[0].isReportable)
    }

    @Test func timeWithoutSleepThatOneCalloutTookIsNoStarvation() {
        var report = TargetReport()
        func truth(inLongCallouts: UInt64) -> Truth {
            report.wakeful = [
                .init(begin: 0, end: 2000 * Self.ms, certain: 2000 * Self.ms, inLongCallouts: inLongCallouts * Self.ms)
            ]
            return Truth.all(in: report, pulses: [])[0]
        }
        #expect(truth(inLongCallouts: 0).isAbove)
        #expect(!truth(inLongCallouts: 1500).isReportable)
    }
}

struct FindingTests {
    private static let ms: UInt64 = 1_000_000

    @Test func classicReportsOfOneRunAreOneFindingWithRepeats() {
        let times: [(UInt64, UInt64)] = [(1150, 7), (1300, 7), (1450, 7), (3150, 9)]
        let findings = Finding.all(from: times.map { TargetReport.ClassicReport(time: $0.0 * Self.ms, run: $0.1) })
        #expect(findings.map(\.start) == [1000 * Self.ms, 3000 * Self.ms])
        #expect(findings.map(\.duration) == [450 * Self.ms, 150 * Self.ms])
        #expect(findings.map(\.repeats) == [2, 0])
        #expect(findings.allSatisfy { $0.trouble == nil })
    }

    @Test func timeThatIsLeftOutOfTheDurationStillLiesBetweenStartAndEnd() {
        let sighting = TargetReport.Sighting(isStarvation: false, start: 100, duration: 200, excluded: 50, detected: 250)
        let finding = Finding.all(from: [sighting])[0]
        #expect(finding.duration == 200)
        #expect(finding.end == 350)
    }

    @Test func linesBeyondBeginAndEndAreRepeats() {
        let sighting = TargetReport.Sighting(isStarvation: true, start: 1, duration: 2, detected: 3, surplus: 1)
        #expect(Finding.all(from: [sighting]) == [Finding(trouble: .starvation, start: 1, duration: 2, detected: 3, repeats: 1)])
    }
}
