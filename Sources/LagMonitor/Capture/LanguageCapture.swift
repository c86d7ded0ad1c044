package import CLagBeacon
package import CLagLinux
package import LagActivity
package import LagModel

/// The languages' part of a capture: copies for each capture method, and what becomes of them. Owned by the watchdog, like
/// ``ThreadCapture``.
package protocol LanguageCapture: AnyObject {
    /// What the thread of the last capture was working on; nil: not known.
    var context: UnsafePointer<clb_context_copy>? { get }
    /// The language's task that it ran; nil: none, or not known.
    var task: UnsafePointer<cll_task>? { get }
    /// Whether it was collecting garbage.
    var isCollecting: Bool { get }

    func forgetContext()

    /// - Parameters:
    ///   - identity: nil: the next capture is of native frames only.
    ///   - mayStop: whether it may stop the thread; no if another thread's stop was requested and is still to come.
    /// - Returns: whether frames must be copied while the thread cannot change them.
    func prepare(_ identity: ThreadIdentity?, _ modules: ModuleMap, mayStop: Bool) -> Bool

    /// Reads what a thread is working on at this moment, without stopping it: it counts only if a capture finds the same
    /// afterwards.
    /// - Parameter isLikely: whether it is worth examining the modules, which takes long the first time.
    func readRunning(_ identity: ThreadIdentity, _ modules: ModuleMap, isLikely: Bool)

    /// Copies the runtimes' frames of a sleeping thread.
    func copySleeping(_ snapshot: UnsafePointer<cll_snapshot>)

    /// Replaces the runtimes' own frames by the languages' frames, after the thread was released.
    /// - Parameter stored: the number of frames.
    /// - Returns: the number of frames afterwards, how many the whole stack gained, and whether a runtime reports that it ends at
    ///   the thread's first function.
    func merge(
        _ method: CaptureMethod,
        _ snapshot: UnsafePointer<cll_snapshot>,
        into frames: FrameBuffer,
        stored: Int
    ) -> (stored: Int, gained: Int, isWhole: Bool)
}
