internal import CLagBeacon
internal import CLagLinux
internal import LagActivity
internal import LagModel

/// Takes a running thread's registers and stack in another process: ptrace(2), by a thread of its own (cll_trace.h).
///
/// The thread is stopped for the copying alone, some 20 µs. Whatever becomes of this process meanwhile, SIGKILL included, the
/// kernel lets the thread go on: nothing that this leaves behind keeps it stopped.
struct TraceCapture: RunningThreadCapture {
    let method = CaptureMethod.ptrace
    let snapshot: Snapshot
    /// A stop ends a system call that the thread has entered meanwhile, and epoll_wait for one returns EINTR then.
    let prefersSample = true
    private let tracer: OpaquePointer

    /// - Returns: nil where no thread could be started.
    init?(snapshot: Snapshot) {
        guard let tracer = cll_tracer_create() else { return nil }
        self.snapshot = snapshot
        self.tracer = tracer
    }

    var hasAnswer: Bool { cll_tracer_has_answer(tracer) != 0 }

    func withdraw() -> Bool { cll_tracer_withdraw(tracer) == Int32(CLL_SIGNAL_TAKEN) }

    /// Ends the thread as well. It may still wait for a target that does not stop; its memory stays then, and the snapshot is not
    /// written any more.
    func forget() { cll_tracer_destroy(tracer) }

    func take(_ target: ThreadIdentity, state: ThreadState, within nanoseconds: UInt64) -> RunningThreadAnswer {
        let answer = cll_tracer_capture(
            tracer,
            target.process,
            target.tid,
            target.stackLow,
            target.stackHigh,
            snapshot.raw,
            clb_now_ns() + nanoseconds
        )
        return RunningThreadAnswer(answer)
    }
}
