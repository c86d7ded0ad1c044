package import CLagBeacon
package import CLagLinux
internal import CLibunwind
package import LagActivity

/// What is known about the last capture's frames without reading files.
extension ThreadCapture {
    /// The start of a function of the last capture's frames; the program counter if the unwind tables do not have it. Names need
    /// files, and so the reporter; this distinguishes functions without them. About 1 µs.
    package func function(of frame: FrameBuffer.Frame) -> UInt64 {
        if frame.language != 0, let languageSource { return languageSource.function(of: frame.language) }
        return unwinder.function(of: frame, modules: modules)
    }

    /// Stores the start of its function with a frame of the last capture.
    package func findFunction(at index: Int, in frames: FrameBuffer) {
        frames.setFunctionStart(function(of: frames[index]), at: index)
    }

    /// Appends the suspended callers of a task's running function to the frames of the last capture.
    /// - Parameter blocks: the task's memory, the newest first.
    /// - Returns: their number.
    package func addAsyncCallers(_ blocks: UnsafeBufferPointer<UInt64>, to frames: FrameBuffer, from first: Int) -> Int {
        unwinder.asyncCallers(blocks, modules: modules, into: frames, from: first)
    }

    /// The context that the program published for the thread of the last capture (OTEP 4947); nil: none, or not known. Only for
    /// another process.
    package var context: UnsafePointer<clb_context_copy>? { languages?.context }

    /// The language's task that the thread of the last capture ran; nil: none, or not known. Only for another process.
    package var task: UnsafePointer<cll_task>? { languages?.task }

    /// Reads ``context`` and ``task`` of a thread of another process at this moment, without stopping it: this is not a capture,
    /// and no proof. The thread notices nothing.
    /// - Parameter isLikely: whether a stall is likely. Before the first likely one, nothing is read.
    package func readRunning(_ target: ThreadIdentity, isLikely: Bool) {
        languages?.readRunning(target, modules, isLikely: isLikely)
    }
}
