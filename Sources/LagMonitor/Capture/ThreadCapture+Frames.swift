package import CLagBeacon
package import CLagLinux
internal import CLibunwind
package import LagActivity

/// What can be said of the last capture's frames without files.
extension ThreadCapture {
    /// Where the function of a frame of the last capture begins; its program counter where the unwind tables do not say.
    /// Names need files, and so the reporter; this distinguishes functions without them. About 1 µs.
    package func function(of frame: FrameBuffer.Frame) -> UInt64 {
        if frame.language != 0, let languageSource { return languageSource.function(of: frame.language) }
        return unwinder.function(of: frame, modules: modules)
    }

    /// Keeps with a frame of the last capture where its function begins.
    package func findFunction(at index: Int, in frames: FrameBuffer) {
        frames.setFunctionStart(function(of: frames[index]), at: index)
    }

    /// Writes the suspended callers of a task's running function behind the frames of the last capture.
    /// - Parameter blocks: of the task's memory, the newest first.
    /// - Returns: how many.
    package func addAsyncCallers(_ blocks: UnsafeBufferPointer<UInt64>, to frames: FrameBuffer, from first: Int) -> Int {
        unwinder.asyncCallers(blocks, modules: modules, into: frames, from: first)
    }

    /// What the program published that the thread of the last capture was at (OTEP 4947); nil: nothing, or it is not known. Of another process alone.
    package var context: UnsafePointer<clb_context_copy>? { languages?.context }

    /// The task of its language that the thread of the last capture ran; nil: none, or it is not known. Of another process alone.
    package var task: UnsafePointer<cll_task>? { languages?.task }

    /// Has ``context`` and ``task`` say what a thread of another process is at just now, whatever it does meanwhile: no capture, and no proof. The thread notices nothing.
    /// - Parameter isLikely: whether a stall is. Nothing is read before the first.
    package func readRunning(_ target: ThreadIdentity, isLikely: Bool) {
        languages?.readRunning(target, modules, isLikely: isLikely)
    }
}
