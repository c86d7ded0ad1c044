import LagCapture
import LagDetection
import LagModel
import Testing

@testable import LagMonitor

@Suite("Which frames a line has")
struct ShownFramesTests {
    /// Of a stack of so many frames, of which `lost` more had no room.
    private func stack(_ count: Int, lost: Int = 0) -> StallFindings.NamedStack {
        let frames = (0..<count).map { StallRecord.Frame(pc: UInt64($0), symbol: "f\($0)") }
        var outcome = CaptureOutcome.failed(.noFreeSlot)
        (outcome.stored, outcome.total) = (count, count + lost)
        return StallFindings.NamedStack(
            stack: TalliedStack(key: 1, outcome: outcome),
            frames: frames,
            levels: frames,
            index: 0,
            waitKind: nil,
            loopFrames: 0,
            areOfRuntime: []
        )
    }

    @Test func `all of them while the culprit is among the first`() {
        for culprit in [nil, 0, 39] as [Int?] {
            let shown = stack(100).levels(of: 80, with: culprit)
            #expect(shown.map(\.pc) == Array(0..<80) && shown.allSatisfy { $0.skipped == nil })
        }
    }

    @Test func `the culprit of a deep recursion with what called it, and how many are left out`() throws {
        let shown = stack(256).levels(of: 128, with: 150)
        #expect(shown.map(\.pc) == Array(0..<16) + Array(150..<256))
        #expect(shown[16].skipped == 134 && shown.count { $0.skipped != nil } == 1)
        // What the capture had no room for lies before the last 64.
        #expect(stack(256, lost: 1000).levels(of: 128, with: 200)[16].skipped == 1184)
        #expect(stack(256, lost: 1000).levels(of: 128, with: 150)[16].skipped == 134)
    }

    @Test func `inlined functions count as a part of their frame`() {
        var inlined = StallRecord.Frame(pc: 0, symbol: "inlined")
        inlined.inlined = true
        let whole = stack(60)
        let levels = whole.levels.flatMap { [inlined, $0] }
        let deep = StallFindings.NamedStack(
            stack: whole.stack,
            frames: whole.frames,
            levels: levels,
            index: 0,
            waitKind: nil,
            loopFrames: 0,
            areOfRuntime: []
        )
        #expect(deep.levels(of: 128, with: 70).count == 120)
        let shown = deep.levels(of: 20, with: 101)
        #expect(shown.count == 20 + 20 - 1 && shown[20].skipped == 40)
    }
}
