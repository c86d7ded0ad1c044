internal import CLibunwind
internal import Foundation
internal import LagCapture

/// The gap that a running thread sees when it is captured by a signal.
///
/// The thread reads the clock in a tight loop and notes every gap. For each capture the largest gap that overlaps the
/// capture's own begin and end, on the same clock, is its pause. Nothing is subtracted. What is left out and counted are
/// captures during which the scheduler put the thread aside for another one (its involuntary switches moved): that gap is
/// the other thread's time slice. `capture_pause_all` leaves none out; `capture_pause_noise` is the largest gap in windows
/// of the same lengths half a pause later, in which nobody was captured: what the machine does by itself.
struct CapturePauseSignal: Benchmark {
    let name = "capture_pause_signal"
    let unit = "us"
    let targets = [Target(.value, .atMost(5)), Target(.p99, .atMost(50))]

    private static let captures = 600
    private static let shortestPauseMilliseconds = 2.0
    private static let longestPauseMilliseconds = 4.0

    private struct Capture {
        let window: GapRecorder.Window
        let wasSwitched: Bool
    }

    func run() throws -> [BenchLine] {
        let capture = try ThreadCapture()
        guard CaptureSignals.install() > 0 else { throw BenchmarkFailure("no signal is free") }
        defer { CaptureSignals.remove() }
        let recorder = try GapRecorder()
        let frames = FrameBuffer(capacity: 256)
        capture.warmUp(recorder.thread.target, into: frames)
        var captures: [Capture] = []
        for _ in 0..<Self.captures {
            if let one = once(capture, recorder.thread.target, frames) { captures.append(one) }
        }
        let gaps = recorder.stop()

        let undisturbed = captures.filter { !$0.wasSwitched }
        guard undisturbed.count >= Self.captures / 3 else {
            throw BenchmarkFailure("only \(undisturbed.count) of \(Self.captures) captures were left undisturbed")
        }
        let shift = UInt64(Self.shortestPauseMilliseconds / 2 * 1_000_000)
        let noise = undisturbed.map { GapRecorder.Window(begin: $0.window.begin + shift, end: $0.window.end + shift) }
        return [
            line(name, undisturbed.map(\.window), gaps).noting("switched_away", captures.count - undisturbed.count),
            line("capture_pause_all", captures.map(\.window), gaps),
            line("capture_pause_noise", noise, gaps),
        ]
    }

    /// One capture. Nil when the thread was not captured by a signal: it was waiting for a processor, or did not answer.
    private func once(_ capture: ThreadCapture, _ target: CaptureTarget, _ frames: FrameBuffer) -> Capture? {
        guard let earlier = ThreadState(tid: target.tid) else { return nil }
        // The watchdog too looks at the thread a while before it captures.
        Pause.sleep(milliseconds: .random(in: Self.shortestPauseMilliseconds...Self.longestPauseMilliseconds))
        guard let before = ThreadState(tid: target.tid) else { return nil }
        let begin = clu_now_ns()
        let outcome = capture.capture(target, earlier: earlier, into: frames)
        let end = clu_now_ns()
        guard outcome.method == .signal, let after = ThreadState(tid: target.tid) else { return nil }
        return Capture(
            window: GapRecorder.Window(begin: begin, end: end),
            wasSwitched: after.involuntarySwitches != before.involuntarySwitches
        )
    }

    private func line(_ name: String, _ windows: [GapRecorder.Window], _ gaps: [GapRecorder.Window]) -> BenchLine {
        let largest = Samples(windows.map { Self.largestGap(in: $0, of: gaps) / 1000 })
        var line = BenchLine(name, largest.median, unit)
        line.p99 = largest.percentile(99)
        return line.noting("samples", largest.count)
    }

    /// In nanoseconds; 0 when there was none. `gaps` are in their order.
    private static func largestGap(in window: GapRecorder.Window, of gaps: [GapRecorder.Window]) -> Double {
        var (low, high) = (0, gaps.count)
        while low < high {
            let middle = (low + high) / 2
            if gaps[middle].end <= window.begin { low = middle + 1 } else { high = middle }
        }
        var largest: UInt64 = 0
        while low < gaps.count, gaps[low].overlaps(window) {
            largest = max(largest, gaps[low].nanoseconds)
            low += 1
        }
        return Double(largest)
    }
}
