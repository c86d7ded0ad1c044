internal import CLagLinux
import Glibc
internal import LagActivity
import LagCapture
import LagDiagnosis
internal import LagModel
import StallFixtures
import Synchronization

/// `CaptureProbe SCENARIO`: brings a thread into a known stall, captures it, and prints what came of it, a line a fact:
/// `method=…`, `failure=…`, `end=…`, `recovered=…`, `frame=NAME` (leaf first), `undisturbed=yes|no`.
///
/// A process of its own for each scenario: a hang or a crash is then a finding, not the end of the test run.
@main
struct CaptureProbe {
    static func main() throws {
        fixture_unbuffer_stdout()
        // Whoever started us may have been a thread that blocks nearly every signal, as Dispatch's workers do.
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        let name = CommandLine.arguments.dropFirst().first ?? ""
        guard let scenario = Scenario.all[name] else {
            print("no scenario '\(name)'; there are: \(Scenario.all.keys.sorted().joined(separator: " "))")
            exit(64)
        }
        try scenario()
    }

    /// What a capture needs once. Before the thread stalls: its stall may be a short one.
    static func prepare(_ capture: ThreadCapture) -> FrameBuffer {
        let frames = FrameBuffer(capacity: 256)
        capture.warmUp(ThreadIdentity(tid: gettid(), stackLow: 0, stackHigh: 0), into: frames)
        return frames
    }

    /// Captures as the watchdog does: a look at the first sign, the capture some time later.
    static func capture(_ thread: StalledThread, with capture: ThreadCapture, into frames: FrameBuffer, sleeping: Bool) {
        thread.waitUntilStalled(sleeping: sleeping)
        let earlier = ThreadState(tid: thread.target.tid)
        usleep(20_000)
        let outcome = capture.capture(thread.target, earlier: earlier, into: frames)
        show(outcome, frames, capture.modules)
    }

    static func finish(_ thread: StalledThread) {
        thread.release()
        thread.join()
        print("undisturbed=\(thread.verdict.load(ordering: .relaxed) == 0 ? "yes" : "no")")
    }

    static func gettid() -> Int32 { cll_gettid() }

    static func show(_ outcome: CaptureOutcome, _ frames: FrameBuffer, _ modules: ModuleMap) {
        print("method=\(outcome.method.rawValue)")
        print("failure=\(outcome.failure?.rawValue ?? "-")")
        print("end=\(outcome.end)")
        print("recovered=\(outcome.framePointerRecovered ? "yes" : "no")")
        print("total=\(outcome.total)")
        guard outcome.method != .none else { return }
        var symbolizer = Symbolizer()
        for index in 0..<outcome.stored {
            let frame = frames[index]
            guard let module = frame.module.flatMap({ modules.module(at: $0) }) else {
                print("frame=?")
                continue
            }
            let query = SymbolQuery(
                modulePath: module.path,
                buildID: module.buildID,
                offset: frame.pc &- module.bias,
                isReturnAddress: frame.isReturnAddress
            )
            print("frame=\(symbolizer.resolve([query])[0]?.name ?? module.baseName)\(frame.isSignalFrame ? " [signal]" : "")")
        }
    }
}
