import Testing

@testable import lagaccuracy

struct TruthTests {
    private static let ms: UInt64 = 1_000_000

    private func observedStop(_ asked: UInt64, _ stopped: UInt64, _ continued: UInt64, _ running: UInt64) -> ObservedStop {
        ObservedStop(
            asked: asked * Self.ms,
            stopped: stopped * Self.ms,
            continued: continued * Self.ms,
            running: running * Self.ms
        )
    }

    /// A stall from 1000 to 1500 ms, seen by the loop from 999 to 1503 ms.
    private func truth(kind: String = "cpu", observedStops: [ObservedStop] = []) -> Truth {
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
        return Truth.all(in: report, observedStops: observedStops)[0]
    }

    @Test func `without stops the truth is the time measured in the callout`() {
        let truth = truth()
        #expect((truth.least, truth.most, truth.longest) == (500 * Self.ms, 500 * Self.ms, 504 * Self.ms))
        #expect(truth.due == 1150 * Self.ms)
        #expect(truth.stallType == .callout)
        #expect(truth.label == "cpu in timer")
    }

    @Test func `a stop is subtracted with its uncertainty`() {
        let truth = truth(observedStops: [observedStop(1098, 1100, 1400, 1401)])
        #expect(truth.least == (500 - 303) * Self.ms)
        #expect(truth.most == (500 - 300) * Self.ms)
        #expect(truth.longest == (504 - 300) * Self.ms)
        // 100 ms before the stop, 50 after it.
        #expect(truth.due == 1450 * Self.ms)
    }

    @Test func `only the overlapping part of a stop is subtracted`() {
        #expect(truth(observedStops: [observedStop(800, 800, 1100, 1100)]).most == 400 * Self.ms)
        #expect(truth(observedStops: [observedStop(1400, 1400, 2000, 2000)]).most == 400 * Self.ms)
        #expect(truth(observedStops: [observedStop(1500, 1500, 2000, 2000)]).most == 500 * Self.ms)
    }

    @Test func `a stall that consists only of a stop must not be reported`() {
        let truth = truth(observedStops: [observedStop(1001, 1002, 1480, 1481)])
        #expect(!truth.mayBeFound)
        #expect(!truth.mustBeFound)
    }

    @Test func `the durations of several stops are subtracted`() {
        let truth = truth(observedStops: [observedStop(1300, 1300, 1400, 1400), observedStop(1050, 1050, 1150, 1150)])
        #expect(truth.most == 300 * Self.ms)
        #expect(truth.due == 1250 * Self.ms)
    }

    @Test func `a starvation has its own threshold`() {
        let truth = truth(kind: "starve")
        #expect(truth.stallType == .starvation)
        #expect(!truth.mayBeFound)
        #expect(truth.due == 2000 * Self.ms)
    }

    @Test func `a gap between readings is attributed to the kernel`() {
        var report = TargetReport()
        report.gaps = [.init(begin: 100 * Self.ms, end: 400 * Self.ms)]
        let truth = Truth.all(in: report, observedStops: [])[0]
        #expect(!truth.isInjected)
        #expect(truth.mustBeFound)
        #expect(!Truth.all(in: report, observedStops: [observedStop(110, 110, 390, 390)])[0].mayBeFound)
    }

    @Test func `awake time spent in one long callout is not a starvation`() {
        var report = TargetReport()
        func truth(inLongCallouts: UInt64) -> Truth {
            report.awakePeriods = [
                .init(begin: 0, end: 2000 * Self.ms, certain: 2000 * Self.ms, inLongCallouts: inLongCallouts * Self.ms)
            ]
            return Truth.all(in: report, observedStops: [])[0]
        }
        #expect(truth(inLongCallouts: 0).mustBeFound)
        #expect(!truth(inLongCallouts: 1500).mayBeFound)
    }

    @Test func `a standstill is the common gap of two processors without their run delay`() {
        func gap(_ begin: UInt64, _ end: UInt64, _ runDelay: UInt64 = 0) -> StandstillWatch.Gap {
            .init(begin: begin * Self.ms, end: end * Self.ms, runDelay: runDelay * Self.ms)
        }
        #expect(StandstillWatch.common([gap(1000, 1100)], [gap(1001, 1099)]) == [observedStop(1001, 1002, 1099, 1099)])
        #expect(StandstillWatch.common([gap(1000, 1100)], [gap(1200, 1300)]) == [])
        #expect(StandstillWatch.common([gap(1000, 1100, 97)], [gap(1001, 1099)]) == [])
        #expect(StandstillWatch.common([gap(1000, 1100, 40)], [gap(1001, 1099)]) == [observedStop(1001, 1042, 1099, 1099)])
    }
}

struct DetectionTests {
    private static let ms: UInt64 = 1_000_000

    @Test func `watchdog reports of one stall are one detection with repeats`() {
        let times: [(UInt64, UInt64)] = [(1150, 7), (1300, 7), (1450, 7), (3150, 9)]
        let detections = Detection.all(from: times.map { TargetReport.SemaphoreWatchdogReport(time: $0.0 * Self.ms, run: $0.1) })
        #expect(detections.map(\.start) == [1000 * Self.ms, 3000 * Self.ms])
        #expect(detections.map(\.duration) == [450 * Self.ms, 150 * Self.ms])
        #expect(detections.map(\.repeats) == [2, 0])
        #expect(detections.allSatisfy { $0.stallType == nil })
    }

    @Test func `time excluded from the duration is between start and end`() {
        let monitorReport = TargetReport.MonitorReport(
            isStarvation: false,
            start: 100,
            duration: 200,
            excluded: 50,
            detected: 250
        )
        let detection = Detection.all(from: [monitorReport])[0]
        #expect(detection.duration == 200)
        #expect(detection.end == 350)
    }

    @Test func `lines other than begin and end are repeats`() {
        let monitorReport = TargetReport.MonitorReport(isStarvation: true, start: 1, duration: 2, detected: 3, extraLines: 1)
        #expect(
            Detection.all(from: [monitorReport]) == [
                Detection(stallType: .starvation, start: 1, duration: 2, detected: 3, repeats: 1)
            ]
        )
    }
}
