import LagCapture
import LagModel
import Testing

@testable import LagDetection
@testable import LagDiagnosis
@testable import LagMonitor

@Suite("Programs without symbols")
struct NamelessProgramTests {
    private func frame(_ module: String, _ function: UInt64, _ symbol: String? = nil, inApp: Bool = true) -> StallRecord.Frame {
        var frame = StallRecord.Frame(pc: function + 5, module: module, offset: function + 5, symbol: symbol, inApp: inApp)
        frame.functionOffset = function
        return frame
    }

    private func confidence(_ frames: [StallRecord.Frame], isWhole: Bool = true, culprit place: Int = 0) throws -> Double {
        var outcome = CaptureOutcome.failed(.noFreeSlot)
        (outcome.stored, outcome.total) = (frames.count, frames.count)
        outcome.end = isWhole ? .complete : .badFrame
        let stack = StallFindings.NamedStack.made(frames, outcome)
        let culprit = Culprit(stacks: [
            CulpritStack(weightNanoseconds: 1, frames: stack.culpritFrames, isComplete: isWhole, samples: 1000)
        ])
        #expect(culprit?.frameIndex == place)
        return try #require(culprit).confidence
    }

    /// The frame nearest to the leaf is mostly in the C library there.
    @Test func `a static program without symbols has no certain culprit`() throws {
        let own = [frame("app", 0x1000), frame("app", 0x2000), frame("app", 0x3000)]
        #expect(try confidence(own) < 0.25)
        #expect(try confidence([frame("app", 0x1000), frame("[vdso]", 0x10, "__vdso_time", inApp: false)] + own) < 0.25)
        // In any other program the stack starts in the C library, and code in the program's file is mostly its own.
        let start = frame("libc.so.6", 0x4000, "__libc_start_main", inApp: false)
        #expect(try confidence(own + [start]) > 0.4)
        // The outermost frames were not seen.
        #expect(try confidence(own, isWhole: false) > 0.35)
        // A program with symbols, in which only lines would have shown inlined functions.
        var work = frame("app", 0x1000, "work")
        #expect(try confidence([work] + own) > 0.75)
        work.isCalledDirectly = false
        #expect(try confidence([work] + own) < 0.65)
        work.isCalledDirectly = true
        #expect(try confidence([work] + own) > 0.85)
        #expect(try confidence([work] + own) < 0.9)
    }

    /// `qsort` has called `compare`, of the program, by its pointer.
    @Test(arguments: [("libc.so.6", 0.88...0.9), ("app", 0.6...0.62)])
    func `only a library of another file makes a callback more certain`(module: String, expected: ClosedRange<Double>) throws {
        var compare = frame("app", 0x1000, "compare")
        compare.isCalledDirectly = false
        let frames = [
            frame("libc.so.6", 0x4000, "memcpy", inApp: false), compare, frame(module, 0x5000, "qsort", inApp: false),
            frame("app", 0x2000, "main"),
        ]
        #expect(expected.contains(try confidence(frames, culprit: 1)))
    }
}
