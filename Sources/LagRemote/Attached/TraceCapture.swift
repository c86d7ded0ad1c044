internal import CLagBeacon
internal import CLagLinux
internal import CLagRemote
internal import LagActivity
internal import LagCapture
internal import LagModel

/// Captures a running thread's registers and stack in another process: ptrace(2), in a separate thread (clr_trace.h).
///
/// The thread is only stopped for the copy, some 20 µs. Even if this process is killed meanwhile, the
/// kernel continues the thread: it never stays stopped.
struct TraceCapture: RunningThreadCapture {
    let method = CaptureMethod.ptrace
    let snapshot: Snapshot
    /// A stop interrupts a system call that the thread has entered meanwhile; epoll_wait, for example, then returns EINTR.
    let prefersSample = true
    private let tracer: OpaquePointer

    /// - Parameter languages: copies more while a thread is stopped.
    init(snapshot: Snapshot, languages: (any LanguageCapture)?) throws(CaptureUnavailable) {
        guard let tracer = clr_tracer_create() else { throw CaptureUnavailable(reason: "no thread for ptrace") }
        self.snapshot = snapshot
        self.tracer = tracer
        guard let stopped = (languages as? RuntimeCapture)?.stopped else { return }
        // The tracer's thread may outlive this object; what it calls is kept alive as long.
        clr_tracer_set_hook(
            tracer,
            { context, tid, snapshot in
                guard let context, let snapshot else { return 0 }
                return Unmanaged<StoppedCopy>.fromOpaque(context).takeUnretainedValue().stackEnd(tid, snapshot)
            },
            { context, tid, snapshot in
                guard let context, let snapshot else { return }
                Unmanaged<StoppedCopy>.fromOpaque(context).takeUnretainedValue().take(tid, snapshot)
            },
            { context in if let context { Unmanaged<StoppedCopy>.fromOpaque(context).release() } },
            Unmanaged.passRetained(stopped).toOpaque()
        )
    }

    /// How long the last captured thread was stopped; 0: it was not.
    var stopNanoseconds: UInt64 { clr_tracer_stop_ns(tracer) }

    var hasAnswer: Bool { clr_tracer_has_answer(tracer) != 0 }

    func withdraw() -> Bool { clr_tracer_withdraw(tracer) == Int32(CLL_SIGNAL_TAKEN) }

    /// Also ends the thread. It may still wait for a target that does not stop; then its memory stays, and the snapshot is no
    /// longer written.
    func forget() { clr_tracer_destroy(tracer) }

    func take(_ target: ThreadIdentity, state: ThreadState, within nanoseconds: UInt64) -> RunningThreadAnswer {
        let answer = clr_tracer_capture(
            tracer,
            target.process,
            target.tid,
            target.stackLow,
            target.stackHigh,
            snapshot.raw,
            clb_now_ns() + nanoseconds
        )
        if answer == Int32(CLL_SIGNAL_TAKEN) { StopTimes.record(stopNanoseconds) }
        return RunningThreadAnswer(answer)
    }
}
