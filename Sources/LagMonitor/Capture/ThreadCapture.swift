internal import CLagBeacon
internal import CLagLinux
internal import CLibunwind
internal import Glibc
package import LagActivity
package import LagModel

/// Captures another thread's backtrace: passively if the thread sleeps, by a signal if it runs, by a kernel sample if no signal
/// reaches it. In another process, a running thread is captured by a kernel sample, or else by `ptrace`.
///
/// Owned by one thread (the watchdog). After ``init()`` nothing here allocates or takes the loader's or malloc's lock, so it does
/// not matter which lock the stalled thread holds. Every wait is bounded.
package final class ThreadCapture {
    /// The modules that frames refer to by index.
    package let modules: ModuleMap
    /// How long captures have slept in total, on purpose: between polls, and for the answer to a signal.
    package private(set) var sleptNanoseconds: UInt64 = 0

    private let main: ThreadIdentity?
    /// The process whose threads are captured.
    package let process: Int32
    /// The thread that has not answered its request, and the time of the request.
    private var unansweredRequest: (tid: Int32, asked: UInt64)?
    /// How long a request stays open although other threads are to be captured.
    private static let requestLifetimeNanoseconds: UInt64 = 250_000_000
    let unwinder: Unwinder
    private let passive: PassiveCapture
    private let running: any RunningThreadCapture
    /// Reads the languages' own frames; only for another process.
    let languages: (any LanguageCapture)?
    package let languageSource: (any LanguageFrameSource)?

    private static let pauseNanoseconds = 100_000
    // How often a running thread with every signal blocked is polled.
    private static let blockedAttempts = 3

    /// Loads libunwind, reads the module map and allocates the memory for snapshots. Not for the watchdog's steady state.
    /// - Parameters:
    ///   - process: the process whose threads are captured; nil: this one.
    ///   - languages: reads the frames of languages; nil: all frames are native ones.
    package init(
        process: Int32? = nil,
        running: any RunningThreadCapture.Type = SignalCapture.self,
        languages: (any LanguageFrameSource)? = nil
    ) throws(CaptureUnavailable) {
        let process = process ?? getpid()
        self.process = process
        self.languages = languages?.makeCapture(process: process)
        languageSource = self.languages == nil ? nil : languages
        if let message = clu_loader_load() { throw CaptureUnavailable(reason: String(cString: message)) }
        let error = cll_memory_prepare()
        guard error == 0 else {
            throw CaptureUnavailable(reason: "cannot read this process's memory: \(String(cString: strerror(error)))")
        }
        guard let modules = ModuleMap(process: process), let unwinder = Unwinder(), let sleeping = Snapshot(),
            let again = Snapshot(), let other = Snapshot()
        else { throw CaptureUnavailable(reason: "no memory for stack snapshots") }
        self.modules = modules
        self.unwinder = unwinder
        // One for each method: a handler that answers too late still writes into its own, which is not read then.
        passive = PassiveCapture(snapshot: sleeping, check: again)
        self.running = try running.init(snapshot: other, languages: self.languages)
        modules.refresh()
        main = process == getpid() ? ThreadIdentity.main : nil
    }

    /// Uses both methods once, so that the first real capture finds everything bound, mapped and cached.
    /// - Parameter target: a thread that waits for this call to end (a signal may interrupt its wait).
    package func warmUp(_ target: ThreadIdentity, into frames: FrameBuffer) {
        guard process == getpid(), let state = ThreadState(tid: target.tid) else { return }
        if case .taken = passive.take(target) {
            _ = walk(passive.snapshot, method: .passive, into: frames)
        }
        switch running.take(target, state: state, within: CaptureBudget.full.answerNanoseconds) {
        case .taken: _ = walkRunning(into: frames)
        case .pending: withdraw()
        case .failed: break
        }
    }

    deinit { running.forget() }

    /// Reads the module map again: at the first sign of a stall, so that modules loaded since are known.
    package func refreshModules() {
        if modules.refresh() { unwinder.forget() }
    }

    /// Captures a thread of the process, not the calling one. Bounded by `budget`.
    /// - Parameters:
    ///   - earlier: its state at the stall's first sign, if known; if it has not waited since, it can be signalled at once.
    ///   - bySignal: whether a running thread may be signalled at all.
    ///   - allowsLateAnswer: whether a thread that gets no processor may answer later, to ``lateAnswer(into:)``.
    ///   - withLanguages: whether the frames of languages are inserted among the native ones.
    package func capture(
        _ target: ThreadIdentity,
        earlier: ThreadState?,
        into frames: FrameBuffer,
        bySignal: Bool = true,
        allowsLateAnswer: Bool = false,
        withLanguages: Bool = true,
        budget: CaptureBudget = .full
    ) -> CaptureOutcome {
        languages?.forgetContext()
        if let unansweredRequest {
            if unansweredRequest.tid == target.tid {
                let state = ThreadState(tid: unansweredRequest.tid, process: process)
                // A thread that has had no processor since then has not moved.
                if state?.isRunnable == true { return .failed(.signalTimedOut, .running) }
                self.unansweredRequest = nil
                // It got a processor and is held: this is the answer.
                if running.withdraw(), state?.isHeldByTracer == true { return walkRunning(into: frames) }
            } else if clb_now_ns() > unansweredRequest.asked + Self.requestLifetimeNanoseconds {
                // Only one thread can have a request at a time.
                withdraw()
            }
        }
        let copiesFrames = languages?.prepare(withLanguages ? target : nil, modules, mayStop: unansweredRequest == nil) ?? false
        var quietCheck = QuietThreadCheck(earlier: earlier)
        var failure = CaptureFailure.threadKeptMoving
        var blockedChecks = 0
        var isSampled = false
        for _ in 0..<budget.attempts {
            let seen = passive.take(target) { if copiesFrames { languages?.copySleeping(passive.snapshot.raw) } }
            switch seen {
            case .taken(let call):
                running.sawAsleep(target, at: call.sp)
                var outcome = walk(passive.snapshot, method: .passive, into: frames)
                outcome.state = call.number >= 0 ? .waiting(call) : .faulting
                return outcome
            case .gone: return .failed(.threadGone)
            case .noDescriptor: return .failed(.noDescriptor)
            case .moved: break
            case .refused, .running:
                guard let state = ThreadState(tid: target.tid, process: process), !state.isGone else {
                    return .failed(.threadGone)
                }
                if case .refused = seen, !state.isRunnable { return .failed(.notPermitted, .asleep) }
                guard quietCheck.isQuiet(state) else { break }
                guard bySignal else { return .failed(.stackUnknown, .running) }
                if running.prefersSample, !isSampled, !copiesFrames {
                    isSampled = true
                    if let place = takeSample(target, within: Self.sampleNanoseconds) {
                        return walkSample(at: place, into: frames)
                    }
                    // It may be asleep or have continued by now.
                    continue
                }
                let asked = clb_now_ns()
                // An answer of another thread, which may have arrived by now, must not be taken for this one's.
                let answer: RunningThreadAnswer =
                    unansweredRequest != nil
                    ? .failed(.signalBusy) : running.take(target, state: state, within: budget.answerNanoseconds)
                recordSleep(since: asked, atMost: budget.answerNanoseconds)
                switch answer {
                case .taken: return walkRunning(into: frames)
                case .failed(let reason): failure = reason
                case .pending:
                    if allowsLateAnswer {
                        unansweredRequest = (target.tid, asked)
                        return .failed(.signalTimedOut, .running)
                    }
                    if running.withdraw() { return walkRunning(into: frames) }
                    return .failed(.signalTimedOut, .running)
                }
                // It may still be leaving our own handler, if it has just had a request.
                if failure == .signalsBlocked, blockedChecks < Self.blockedAttempts {
                    blockedChecks += 1
                    break
                }
                if answer.cannotBeAsked, budget.allowsSample, !isSampled {
                    isSampled = true
                    if let place = takeSample(target, within: budget.answerNanoseconds) {
                        return walkSample(at: place, into: frames)
                    }
                }
                // It may be in the kernel by now: then it can be read passively after all.
                guard let now = ThreadState(tid: target.tid, process: process), !now.isRunnable else {
                    return .failed(failure, .running)
                }
                quietCheck = QuietThreadCheck(earlier: nil)
            }
            pause()
        }
        return .failed(failure)
    }

    /// The answer to an open request, if it has arrived: `asked` is since when the thread had no processor.
    package func lateAnswer(into frames: FrameBuffer) -> (tid: Int32, asked: UInt64, outcome: CaptureOutcome)? {
        guard let request = unansweredRequest, running.hasAnswer else { return nil }
        unansweredRequest = nil
        guard running.withdraw() else { return nil }
        languages?.forgetContext()
        return (request.tid, request.asked, walkRunning(into: frames))
    }

    /// The thread's stall is over: so is an open request to it.
    package func forget(_ tid: Int32) {
        running.forgetStall(of: tid)
        if unansweredRequest?.tid == tid { withdraw() }
    }

    private func withdraw() {
        unansweredRequest = nil
        _ = running.withdraw()
    }

    /// A thread of the process, with the bounds of its stack if they can be found (never in another process). If the thread is
    /// not watched, they are as of the last reading of the maps. No lock, no allocation.
    package func identity(of tid: Int32) -> ThreadIdentity {
        guard let main else { return ThreadIdentity(tid: tid, process: process, stackLow: 0, stackHigh: 0) }
        if tid == main.tid { return main }
        let descriptor = cll_thread_descriptor(tid)
        // Without a guard below it, the stack's end is not known: it may be inside a larger mapping.
        guard descriptor > 0, let mapping = modules.guardedMapping(containing: descriptor - 1) else {
            return ThreadIdentity(tid: tid, stackLow: 0, stackHigh: 0)
        }
        return ThreadIdentity(tid: tid, stackLow: mapping.low, stackHigh: descriptor)
    }

    /// Walks the last snapshot of this method again: for the benchmark, to time only the walk.
    package func walkAgain(_ method: CaptureMethod, into frames: FrameBuffer) -> CaptureOutcome {
        switch method {
        case .passive: walk(passive.snapshot, method: .passive, into: frames)
        case .signal, .perfEvent, .ptrace: walk(running.snapshot, method: method, into: frames)
        case .none: .failed(.notUnwindable)
        }
    }

    /// A thread without a sample for this long waits for a processor, or works in the kernel, where it may not be sampled.
    private static let sampleNanoseconds: UInt64 = 5_000_000

    private func takeSample(_ target: ThreadIdentity, within nanoseconds: UInt64) -> SampledPlace? {
        let asked = clb_now_ns()
        defer { recordSleep(since: asked, atMost: nanoseconds) }
        return running.takeSample(target, within: nanoseconds)
    }

    private func walkRunning(into frames: FrameBuffer) -> CaptureOutcome {
        var outcome = walk(running.snapshot, method: running.method, into: frames)
        outcome.state = stateAtCall
        return outcome
    }

    private func walkSample(at place: SampledPlace, into frames: FrameBuffer) -> CaptureOutcome {
        var outcome = walk(running.snapshot, method: .perfEvent, into: frames)
        outcome.state = place == .kernel ? stateAtCall : .running
        outcome.isOfOwnCodeAlone = place == .ownCodeAlone
        return outcome
    }

    /// If a thread was working in a system call, the registers are those right after it, where a signal is delivered.
    private var stateAtCall: KernelState {
        switch cll_snapshot_call(process, running.snapshot.raw) {
        case Int64(CLL_CALL_NONE): .running
        case Int64(CLL_CALL_UNKNOWN): .runningCall(nil)
        case let number: .runningCall(number)
        }
    }

    private func walk(_ snapshot: Snapshot, method: CaptureMethod, into frames: FrameBuffer) -> CaptureOutcome {
        var result = unwinder.walk(snapshot, modules: modules, into: frames)
        // A frame in no known module, or code without information: something was loaded or generated since. Once is enough.
        if result.unknown_modules > 0 || result.end == CLU_UNWIND_NO_INFO, modules.refreshForWalk() {
            unwinder.forget()
            result = unwinder.walk(snapshot, modules: modules, into: frames)
        }
        guard result.stored > 0 else { return .failed(.notUnwindable) }
        var (stored, total) = (Int(result.stored), Int(result.total))
        var end = UnwindEnd(rawValue: result.end) ?? .badFrame
        if let languages {
            let merged = languages.merge(method, snapshot.raw, into: frames, stored: stored)
            stored = merged.stored
            total = max(stored, total + merged.gained)
            if merged.isWhole { end = .complete }
        }
        var outcome = CaptureOutcome(
            method: method,
            failure: nil,
            stored: stored,
            total: total,
            end: end,
            framePointerRecovered: result.frame_pointer_recovered != 0
        )
        outcome.isCollecting = languages?.isCollecting ?? false
        return outcome
    }

    private func pause() {
        let begun = clb_now_ns()
        var time = timespec(tv_sec: 0, tv_nsec: Self.pauseNanoseconds)
        nanosleep(&time, nil)
        // Timers have a slack of some 50 µs.
        recordSleep(since: begun, atMost: UInt64(Self.pauseNanoseconds) * 2)
    }

    /// Time beyond the requested sleep does not count as sleep.
    private func recordSleep(since begun: UInt64, atMost most: UInt64) {
        sleptNanoseconds += min(clb_now_ns().saturatingDifference(begun), most)
    }
}
