internal import CLagLinux
import Glibc
internal import LagActivity
import LagCapture
import LagDiagnosis
internal import LagModel
import StallFixtures
import Synchronization

/// `MonitorProbe capture SCENARIO`: brings a thread into a known stall, captures it, and prints the result, one fact a line: `method=…`,
/// `failure=…`, `end=…`, `recovered=…`, `frame=NAME` (leaf first), `undisturbed=yes|no`.
///
/// A separate process for each scenario: a hang or a crash is then a result, not the end of the test run.
enum CaptureScenarios {
    static func run(_ name: String) throws {
        fixture_unbuffer_stdout()
        // The thread that started this process may block nearly every signal, as Dispatch's workers do.
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        guard let scenario = Scenario.all[name] else {
            print("no scenario '\(name)'; there are: \(Scenario.all.keys.sorted().joined(separator: " "))")
            exit(64)
        }
        try scenario()
    }

    /// What captures need once. Prepared before the thread stalls, because its stall may be short.
    static func prepare(_ capture: ThreadCapture) -> FrameBuffer {
        let frames = FrameBuffer(capacity: 256)
        capture.warmUp(.current, into: frames)
        return frames
    }

    /// Captures like the watchdog: a poll at the first sign, the capture some time later.
    static func capture(_ thread: StalledThread, with capture: ThreadCapture, into frames: FrameBuffer, sleeping: Bool) {
        thread.waitUntilStalled(sleeping: sleeping)
        let earlier = ThreadState(tid: thread.target.tid)
        usleep(20_000)
        var waited = processorWait(of: thread.target.tid)
        var outcome = capture.capture(thread.target, earlier: earlier, into: frames)
        // A running thread answers when it has a processor: on a busy machine the probe waits for that, and a thread that had a
        // processor gets no second try.
        for _ in 0..<50 where !sleeping && outcome.method == .none {
            let now = processorWaitWhenOnProcessor(of: thread.target.tid)
            guard now - waited >= 25_000_000 else { break }
            waited = now
            outcome = capture.capture(thread.target, earlier: earlier, into: frames)
        }
        show(outcome, frames, capture.modules)
    }

    /// The scheduler's counts for a thread: time on a processor, and time spent waiting for one, in nanoseconds.
    private static func processorTimes(of tid: Int32) -> [UInt64] {
        guard let file = fopen("/proc/self/task/\(tid)/schedstat", "r") else { return [0, 0] }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 100)
        guard fgets(&buffer, 100, file) != nil else { return [0, 0] }
        let text = String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.split(separator: " ").prefix(2).map { UInt64($0) ?? 0 }
    }

    private static func processorWait(of tid: Int32) -> UInt64 { processorTimes(of: tid)[1] }

    /// The same after the current wait is counted too, which happens at its end.
    private static func processorWaitWhenOnProcessor(of tid: Int32) -> UInt64 {
        let before = processorTimes(of: tid)[0]
        for _ in 0..<5000 where processorTimes(of: tid)[0] == before { usleep(1000) }
        return processorWait(of: tid)
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
