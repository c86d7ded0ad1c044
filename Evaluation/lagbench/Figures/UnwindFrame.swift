internal import CLagBeacon
internal import Foundation
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import Synchronization

/// The cost of unwinding a frame with warm caches: the time for unwinding the snapshot of a sleeping thread, divided by the
/// number of frames. The peer is glibc's `backtrace()` (libgcc's unwinder), called by that thread itself at the same depth.
///
/// `unwind_frame_signal` is the same for a running thread, whose registers are all known. `unwind_capture` is a whole
/// passive capture: reading the thread's state before and after, copying the stack, and unwinding.
struct UnwindFrame: Benchmark {
    let name = "unwind_frame"
    let unit = "ns"
    let targets = [Target(.value, .atMost(1000))]

    private static let attempts = 20
    private static let walks = 2_000
    private static let peerWalks = 2_000
    private static let captures = 200
    private static let capacity = 256

    /// The state that the thread at the bottom of the stack and the measuring thread share.
    private final class Meeting: Sendable {
        /// The peer's measurement is done; the thread runs until `sleep`, then sleeps until `end`.
        let measured = DispatchSemaphore(value: 0)
        let sleep = Atomic<Bool>(false)
        let end = DispatchSemaphore(value: 0)
        let peer = Mutex((nanosecondsPerFrame: Double.nan, frames: 0))
    }

    func run() throws -> [BenchLine] {
        let capture = try ThreadCapture()
        guard SignalCapture.install() > 0 else { throw BenchmarkFailure("no unused signal is available") }
        defer { SignalCapture.remove() }
        let backtrace = try GlibcFunction.find("backtrace", as: GlibcFunction.Backtrace.self)
        let meeting = Meeting()
        let thread = try BenchThread { DeepStack.descend { Self.bottom(meeting, backtrace) } }
        defer {
            meeting.sleep.store(true, ordering: .relaxed)
            meeting.end.signal()
            thread.join()
        }
        let frames = FrameBuffer(capacity: Self.capacity)
        capture.refreshModules()
        meeting.measured.wait()
        let (peer, peerFrames) = meeting.peer.withLock { $0 }

        let running = try walks(capture, thread.target, .signal, frames)
        meeting.sleep.store(true, ordering: .relaxed)
        Pause.sleep(milliseconds: 20)
        let sleeping = try walks(capture, thread.target, .passive, frames)
        let whole = Samples(
            (0..<Self.captures).map { _ in
                let begin = clb_now_ns()
                _ = capture.capture(thread.target, earlier: nil, into: frames)
                return Double(clb_now_ns() - begin) / 1000
            }
        )
        return [
            BenchLine(name, sleeping.nanosecondsPerFrame, unit).comparing(with: "glibc_backtrace", peer)
                .annotating("frames", sleeping.frames).annotating("peer_frames", peerFrames),
            BenchLine("unwind_frame_signal", running.nanosecondsPerFrame, unit).comparing(with: "glibc_backtrace", peer)
                .annotating("frames", running.frames),
            BenchLine("unwind_capture", whole.median, "us").annotating("frames", sleeping.frames),
        ]
    }

    private func walks(_ capture: ThreadCapture, _ target: ThreadIdentity, _ method: CaptureMethod, _ frames: FrameBuffer) throws
        -> (nanosecondsPerFrame: Double, frames: Int)
    {
        var outcome = CaptureOutcome.failed(.noFreeSlot)
        // A busy machine may not schedule the thread in time.
        for _ in 0..<Self.attempts where outcome.method != method {
            outcome = capture.capture(target, earlier: nil, into: frames)
        }
        guard outcome.method == method, outcome.end == .complete else {
            let reason = outcome.failure.map { ": \($0.rawValue)" } ?? ""
            throw BenchmarkFailure("captured by \(outcome.method), not \(method); unwinding ended \(outcome.end)\(reason)")
        }
        let times = Samples(
            (0..<Self.walks).map { _ in
                let begin = clb_now_ns()
                _ = capture.walkAgain(method, into: frames)
                return Double(clb_now_ns() - begin) / Double(outcome.total)
            }
        )
        return (times.median, outcome.total)
    }

    /// The leaf: measures the peer, then runs, then sleeps.
    @inline(never)
    private static func bottom(_ meeting: Meeting, _ backtrace: GlibcFunction.Backtrace) {
        var addresses = [UnsafeMutableRawPointer?](repeating: nil, count: capacity)
        var found = 0
        let times = Samples(
            (0..<peerWalks).map { _ in
                let begin = clb_now_ns()
                found = Int(backtrace(&addresses, Int32(capacity)))
                return Double(clb_now_ns() - begin) / Double(found)
            }
        )
        meeting.peer.withLock { $0 = (times.median, found) }
        meeting.measured.signal()
        while !meeting.sleep.load(ordering: .relaxed) {}
        meeting.end.wait()
    }
}
