import Testing

@testable import lagaccuracy

struct ScoreTests {
    private static let ms: UInt64 = 1_000_000

    /// A truth in milliseconds, without stops.
    private func truth(
        _ begin: UInt64,
        _ length: UInt64,
        _ stallType: StallType = .callout,
        seenLonger: UInt64 = 0,
        injected: Bool = true
    ) -> Truth {
        Truth(
            stallType: stallType,
            label: "t",
            isInjected: injected,
            begin: begin * Self.ms,
            end: (begin + length) * Self.ms,
            least: length * Self.ms,
            most: length * Self.ms,
            longest: (length + seenLonger) * Self.ms,
            due: begin * Self.ms + stallType.thresholdNanoseconds
        )
    }

    private func detection(_ start: UInt64, _ length: UInt64, _ stallType: StallType? = .callout, repeats: Int = 0) -> Detection {
        Detection(
            stallType: stallType,
            start: start * Self.ms,
            duration: length * Self.ms,
            detected: (start + 160) * Self.ms,
            repeats: repeats
        )
    }

    @Test func `a detected stall counts for recall, with its duration error and latency`() {
        let score = Score(truths: [truth(1000, 300)], detections: [detection(1000, 302)])
        #expect(score.recall == 1)
        #expect(score.falseCount == 0)
        #expect(score.durationErrors == [2 * Self.ms])
        #expect(score.latencies == [10 * Self.ms])
    }

    @Test func `a detection without overlap is false and the stall is missed`() {
        let score = Score(truths: [truth(1000, 300)], detections: [detection(1300, 200)])
        #expect(score.recall == 0)
        #expect(score.falseCount == 1)
        #expect(score.repeats == 0)
        #expect(score.missed.count == 1)
        #expect(score.unfounded.count == 1)
    }

    @Test func `a second detection of the same stall is false`() {
        let score = Score(truths: [truth(1000, 600)], detections: [detection(1000, 200), detection(1210, 390)])
        #expect(score.recall == 1)
        #expect(score.falseCount == 1)
        #expect(score.repeats == 1)
    }

    @Test func `repeated lines of a detection are false`() {
        let score = Score(truths: [truth(1000, 600)], detections: [detection(1000, 600, repeats: 2)])
        #expect(score.recall == 1)
        #expect(score.falseCount == 2)
        #expect(score.repeats == 2)
    }

    @Test func `one detection over two stalls misses one of them`() {
        let score = Score(truths: [truth(1000, 200), truth(1220, 300)], detections: [detection(1000, 520)])
        #expect(score.aboveFound == 1)
        #expect(score.missed.map(\.begin) == [1000 * Self.ms])
    }

    @Test func `a detection of a stall below the threshold is false`() {
        let score = Score(truths: [truth(1000, 120)], detections: [detection(1000, 150)])
        #expect(score.falseCount == 1)
        #expect(score.below == 1)
        #expect(score.above == 0)
        #expect(score.recall == 1)
    }

    @Test(arguments: [(148, 1, 1, 0), (149, 0, 0, 1), (150, 0, 0, 1), (199, 0, 0, 1)])
    func `a detection is right from one millisecond below the threshold`(
        length: UInt64,
        falseCount: Int,
        below: Int,
        between: Int
    ) {
        let score = Score(truths: [truth(1000, length)], detections: [detection(1000, 150)])
        #expect(score.falseCount == falseCount)
        #expect(score.below == below)
        #expect(score.between == between)
        #expect(score.above == 0)
    }

    @Test func `a stall must be detected from one interval above the threshold`() {
        #expect(Score(truths: [truth(1000, 199)], detections: []).recall == 1)
        #expect(Score(truths: [truth(1000, 200)], detections: []).recall == 0)
        #expect(Score(truths: [truth(1000, 1049, .starvation)], detections: []).recall == 1)
        #expect(Score(truths: [truth(1000, 1050, .starvation)], detections: []).recall == 0)
    }

    @Test func `time that the kernel adds after the callout allows but does not require a detection`() {
        let score = Score(truths: [truth(1000, 140, seenLonger: 20)], detections: [detection(1000, 160)])
        #expect(score.falseCount == 0)
        #expect(score.above == 0)
        #expect(score.durationErrors == [20 * Self.ms])
    }

    @Test func `callout stalls and starvations are not confused`() {
        let starving = truth(1000, 1500, .starvation)
        let wrong = Score(truths: [starving], detections: [detection(1000, 1500, .callout)])
        #expect(wrong.recall == 0)
        #expect(wrong.falseCount == 1)
        let right = Score(truths: [starving], detections: [detection(1000, 1500, .starvation)])
        #expect(right.recall == 1)
        #expect(right.starvationRecall == 1)
        // A detection without a type matches both.
        #expect(Score(truths: [starving], detections: [detection(1100, 300, nil)]).recall == 1)
    }

    @Test func `a stall caused by the kernel must be detected but is not used for duration errors`() {
        let kernel = truth(1000, 300, injected: false)
        let score = Score(truths: [kernel], detections: [detection(1010, 250)])
        #expect(score.injected == 0)
        #expect(score.kernel == 1)
        #expect(score.recall == 1)
        #expect(score.durationErrors.isEmpty)
        #expect(Score(truths: [kernel], detections: []).recall == 0)
    }

    @Test func `a detection is assigned to the stall with the largest overlap`() {
        let score = Score(truths: [truth(1000, 200), truth(1210, 400)], detections: [detection(1190, 420)])
        #expect(score.missed.map(\.begin) == [1000 * Self.ms])
    }

    @Test func `the error of bounds is their distance from the true duration`() {
        func error(_ bounds: ClosedRange<UInt64>?) -> UInt64? {
            var detection = detection(1000, 300)
            detection.bounds = bounds.map { $0.lowerBound * Self.ms...$0.upperBound * Self.ms }
            return Score(truths: [truth(1000, 300)], detections: [detection]).matches[0].boundsError
        }
        #expect(error(nil) == nil)
        #expect(error(290...300) == 0)
        #expect(error(250...299) == Self.ms)
        #expect(error(305...310) == 5 * Self.ms)
    }

    @Test func `a percentile is the nearest rank`() {
        let hundred = (1...200).map(UInt64.init)
        #expect(Score.percentile(50, of: hundred) == 100)
        #expect(Score.percentile(99, of: hundred) == 198)
        #expect(Score.percentile(99, of: [7, 9]) == 9)
        #expect(Score.percentile(99, of: []) == nil)
    }
}
