import LagCapture
import LagModel
import Testing

@testable import LagDetection
@testable import LagMonitor

@Suite("The frames shown in a line")
struct ShownFramesTests {
    /// A stack of that many frames, with `lost` more that did not fit.
    private func stack(_ count: Int, lost: Int = 0) -> StallFindings.NamedStack {
        let frames = (0..<count).map { StallRecord.Frame(pc: UInt64($0), symbol: "f\($0)") }
        var outcome = CaptureOutcome.failed(.noFreeSlot)
        (outcome.stored, outcome.total) = (count, count + lost)
        return StallFindings.NamedStack.made(frames, outcome)
    }

    // A line of 8,000 bytes has room for about 50 of them.
    private static let bytes = 8000

    @Test func `all frames are shown while the culprit is among the first`() {
        for culprit in [nil, 0, 39] as [Int?] {
            let shown = stack(100).levels(of: 80, with: culprit, lineBytes: Self.bytes)
            #expect(shown.map(\.pc) == Array(0..<80) && shown.allSatisfy { $0.skipped == nil })
        }
        #expect(stack(100).levels(of: 20, with: 10, lineBytes: Self.bytes).count == 20)
    }

    @Test func `the culprit of a deep recursion is shown with its callers and the number of skipped frames`() throws {
        let shown = stack(256).levels(of: 128, with: 150, lineBytes: Self.bytes)
        let culprit = try #require(shown.firstIndex { $0.skipped != nil })
        #expect((20...30).contains(culprit) && shown[culprit].skipped == 150 - culprit)
        #expect(shown.map(\.pc) == Array(0..<UInt64(culprit)) + Array(150..<214))
        // The frames that did not fit into the capture are before the last 64.
        let skipped = [150, 200].map { place in
            stack(256, lost: 1000).levels(of: 128, with: place, lineBytes: Self.bytes)[culprit].skipped
        }
        #expect(skipped == [150 - culprit, 1200 - culprit])
        for culprit in [nil, 150] as [Int?] {
            let shown = stack(256, lost: 1000).levels(of: 256, with: culprit, lineBytes: 1 << 20)
            #expect(shown.filter { $0.skipped == 1000 }.map(\.pc) == [192])
        }
        // With fewer frames than fit.
        let few = stack(256).levels(of: 16, with: 150, lineBytes: Self.bytes)
        #expect(few.map(\.pc) == Array(0..<8) + Array(150..<158) && few[8].skipped == 142)
    }

    @Test func `long names and inlined functions take up room, and inlined ones count with their frame`() throws {
        let whole = stack(60)
        let levels = whole.levels.flatMap { level in
            var inlined = level
            inlined.symbol = String(repeating: "n", count: 200)
            inlined.inlined = true
            return [inlined, level]
        }
        let deep = StallFindings.NamedStack(
            stack: whole.stack,
            frames: whole.frames,
            levels: levels,
            index: 0,
            waitKind: nil,
            isSleep: false,
            loopFrames: 0,
            areOfRuntime: [],
            areNamesLost: []
        )
        #expect(deep.levels(of: 128, with: 20, lineBytes: Self.bytes).count == 120)
        let shown = deep.levels(of: 128, with: 71, lineBytes: Self.bytes)
        let culprit = try #require(shown.firstIndex { $0.skipped != nil })
        // Frame 35 is the culprit's; the levels before it belong to about half as many frames.
        #expect((10...16).contains(culprit) && shown[culprit].pc == 35 && shown[culprit].skipped == 35 - culprit / 2)
    }
}
