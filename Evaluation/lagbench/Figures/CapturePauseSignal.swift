internal import CLagBeacon
internal import CLagLinux
internal import Foundation
internal import LagActivity
internal import LagCapture
internal import LagModel

/// The pause of a running thread when it is captured by a signal.
///
/// The thread reads the clock in a tight loop and records every gap. The pause of a capture is the largest gap that begins
/// between the capture's start and end, on the same clock. Nothing is subtracted. Two kinds of captures are left out and counted,
/// because a gap of the scheduler hides the pause: captures that found the thread off its processor (a gap had begun before), and
/// captures during which the thread was preempted (its count of involuntary switches changed).
///
/// `capture_pause_all` leaves none out. `capture_pause_noise` uses later windows of the same lengths without a capture, which
/// show the machine's own noise. The peer is the minimum cost of a signal: an empty handler. The two threads are bound to
/// different processors.
struct CapturePauseSignal: Benchmark {
    let name = "capture_pause_signal"
    let unit = "us"
    let targets = [Target(.value, .atMost(5)), Target(.p99, .atMost(50))]

    private static let captures = 600
    /// On a busy machine fewer captures can be measured. Then it continues up to this time, and accepts fewer.
    private static let longestNanoseconds: UInt64 = 6_000_000_000
    private static let fewestCaptures = 50
    private static let peerSignal = SIGURG
    private static let peerSignals = 300
    /// About as long as a capture takes.
    private static let peerWindowNanoseconds: UInt64 = 100_000
    private static let shortestPauseMilliseconds = 2.0
    private static let longestPauseMilliseconds = 4.0

    private struct Capture {
        let window: GapRecorder.Window
        let wasSwitched: Bool
    }

    func run() throws -> [BenchLine] {
        let capture = try ThreadCapture()
        guard SignalCapture.install() > 0 else { throw BenchmarkFailure("no unused signal is available") }
        defer { SignalCapture.remove() }
        let everywhere = try Placement.current()
        guard let here = everywhere.single.first, let there = everywhere.single.last else {
            throw BenchmarkFailure("no processor")
        }
        try here.apply()
        defer { try? everywhere.apply() }
        let recorder = try GapRecorder()
        try there.apply(to: recorder.thread.target.tid)
        let frames = FrameBuffer(capacity: 256)
        capture.warmUp(recorder.thread.target, into: frames)
        let end = clb_now_ns() + Self.longestNanoseconds
        var captures: [Capture] = []
        var undisturbed = 0
        while undisturbed < Self.captures, clb_now_ns() < end {
            guard let one = once(capture, recorder.thread.target, frames) else { continue }
            captures.append(one)
            if !one.wasSwitched { undisturbed += 1 }
        }
        let plain = plainSignals(recorder.thread.target)
        let gaps = Gaps(recorder.stop())

        let measured = captures.filter { !$0.wasSwitched && !gaps.isInside(one: $0.window.begin) }
        guard measured.count >= Self.fewestCaptures else {
            throw BenchmarkFailure("the scheduler disturbed all but \(measured.count) of \(captures.count) captures")
        }
        let shift = UInt64(Self.shortestPauseMilliseconds / 2 * 1_000_000)
        let noise = measured.map { GapRecorder.Window(begin: $0.window.begin + shift, end: $0.window.end + shift) }
            .filter { !gaps.isInside(one: $0.begin) }
        let emptyHandlerPauses = Samples(plain.filter { !gaps.isInside(one: $0.begin) }.map { gaps.largest(beginningIn: $0) })
        return [
            line(name, measured.map { gaps.largest(beginningIn: $0.window) })
                .comparing(with: "empty_handler", emptyHandlerPauses.median / 1000)
                .annotating("peer_p99", BenchLine.format(emptyHandlerPauses.percentile(99) / 1000))
                .annotating("left_out", captures.count - measured.count),
            line("capture_pause_all", captures.map { gaps.largest(overlapping: $0.window) }),
            line("capture_pause_noise", noise.map { gaps.largest(beginningIn: $0) }),
        ]
    }

    /// One capture. Nil if the thread was not captured by a signal, because it waited for a processor or did not respond.
    private func once(_ capture: ThreadCapture, _ target: ThreadIdentity, _ frames: FrameBuffer) -> Capture? {
        guard let earlier = ThreadState(tid: target.tid) else { return nil }
        // Like the watchdog, reads the thread's state some time before the capture.
        Pause.sleep(milliseconds: .random(in: Self.shortestPauseMilliseconds...Self.longestPauseMilliseconds))
        guard let before = ThreadState(tid: target.tid) else { return nil }
        let begin = clb_now_ns()
        let outcome = capture.capture(target, earlier: earlier, into: frames)
        let end = clb_now_ns()
        guard outcome.method == .signal, let after = ThreadState(tid: target.tid) else { return nil }
        return Capture(
            window: GapRecorder.Window(begin: begin, end: end),
            wasSwitched: after.involuntarySwitches != before.involuntarySwitches
        )
    }

    /// The peer: the same thread gets plain signals with an empty handler, the minimum cost of any signal on this machine.
    private func plainSignals(_ target: ThreadIdentity) -> [GapRecorder.Window] {
        let previous = signal(Self.peerSignal) { _ in }
        defer { signal(Self.peerSignal, previous) }
        return (0..<Self.peerSignals).map { _ in
            Pause.sleep(milliseconds: .random(in: Self.shortestPauseMilliseconds...Self.longestPauseMilliseconds))
            let begin = clb_now_ns()
            _ = cll_tgkill(getpid(), target.tid, Self.peerSignal)
            Pause.spin(until: begin + Self.peerWindowNanoseconds)
            return GapRecorder.Window(begin: begin, end: begin + Self.peerWindowNanoseconds)
        }
    }

    private func line(_ name: String, _ nanoseconds: [Double]) -> BenchLine {
        let pauses = Samples(nanoseconds.map { $0 / 1000 })
        var line = BenchLine(name, pauses.median, unit)
        line.p50 = pauses.median
        line.p99 = pauses.percentile(99)
        return line.annotating("samples", pauses.count)
    }
}
