internal import CLagLinux
internal import Foundation
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import Synchronization

/// The effect of a hundred captures on a sleeping thread: its voluntary and involuntary context switches, before and after.
///
/// The peer sends a plain signal with an empty handler to the same sleeping thread a hundred times, as sampling profilers do.
struct CapturePausePassive: Benchmark {
    let name = "capture_pause_passive"
    let unit = "switches"
    let targets = [Target(.value, .atMost(0))]

    private static let captures = 100
    private static let pauseMilliseconds = 1.0
    private static let peerSignal = SIGURG

    func run() throws -> [BenchLine] {
        let capture = try ThreadCapture()
        SignalCapture.install()
        defer { SignalCapture.remove() }
        let awake = DispatchSemaphore(value: 0)
        let thread = try BenchThread { awake.wait() }
        defer {
            awake.signal()
            thread.join()
        }
        let target = thread.target
        Pause.sleep(milliseconds: 20)

        let frames = FrameBuffer(capacity: 256)
        let switches = try added(to: target) {
            guard capture.capture(target, earlier: nil, into: frames).method == .passive else {
                throw BenchmarkFailure("a sleeping thread was not captured passively")
            }
        }
        let peerSwitches = try withEmptyHandler {
            try added(to: target) { _ = cll_tgkill(getpid(), target.tid, Self.peerSignal) }
        }
        return [
            BenchLine(name, switches, unit).comparing(with: "plain_signal", peerSwitches).annotating("captures", Self.captures)
        ]
    }

    /// The context switches of the thread that a hundred calls of `act` add.
    private func added(to target: ThreadIdentity, by act: () throws -> Void) throws -> Double {
        guard let before = TaskFiles.switches(tid: target.tid) else { throw BenchmarkFailure("no status of the thread") }
        for _ in 0..<Self.captures {
            try act()
            Pause.sleep(milliseconds: Self.pauseMilliseconds)
        }
        guard let after = TaskFiles.switches(tid: target.tid) else { throw BenchmarkFailure("no status of the thread") }
        return Double(after.voluntary - before.voluntary) + Double(after.involuntary - before.involuntary)
    }

    private func withEmptyHandler<Value>(_ body: () throws -> Value) rethrows -> Value {
        let previous = signal(Self.peerSignal) { _ in }
        defer { signal(Self.peerSignal, previous) }
        return try body()
    }
}
