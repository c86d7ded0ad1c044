internal import CLibunwind
internal import LagModel
import Testing

@testable import LagCapture
@testable import LagDetection

struct LoopStackTests {
    /// Frames of functions that begin at these addresses, leaf first.
    private func frames(_ functions: [UInt64]) throws -> FrameBuffer {
        let frames = FrameBuffer(capacity: LoopStack.capacity + 1)
        for (index, function) in functions.enumerated() {
            frames.raw[index] = clu_frame(pc: function + 8, module: 0, flags: 0, function_distance: 8, language: 0)
        }
        return frames
    }

    private func outcome(_ stored: Int, _ end: UnwindEnd = .complete, _ method: CaptureMethod = .passive) -> CaptureOutcome {
        CaptureOutcome(method: method, stored: stored, total: stored, end: end)
    }

    @Test func `the frames that a stack shares with the stack of the loop from the root on are the loop`() throws {
        var stack = LoopStack()
        #expect(stack.commonFrames(with: [10, 20]) == 0)
        // The wait, the function that waits, the loop, main.
        stack.record(outcome(4), in: try frames([100, 90, 20, 10]))
        #expect(stack.commonFrames(with: [300, 200, 20, 10]) == 2)
        #expect(stack.commonFrames(with: [20, 10]) == 2)
        #expect(stack.commonFrames(with: [100, 90, 20, 10]) == 4)
        // A handler that calls the loop again.
        #expect(stack.commonFrames(with: [90, 20, 200, 20, 10]) == 2)
        #expect(stack.commonFrames(with: [20, 11]) == 0)
    }

    @Test func `a stack without a known root is not recorded`() throws {
        var stack = LoopStack()
        let frames = try frames([30, 20, 10])
        stack.record(outcome(3), in: frames)
        let before = stack
        let unknown = [
            outcome(2, .badFrame), outcome(2, .limit), outcome(2, .complete, .signal), outcome(0),
            outcome(LoopStack.capacity + 1),
        ]
        for outcome in unknown {
            let isTaken = stack.record(outcome, in: frames)
            #expect(!isTaken && stack == before)
        }
    }
}
