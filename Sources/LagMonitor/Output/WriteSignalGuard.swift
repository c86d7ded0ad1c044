internal import Glibc

/// Keeps the signals of a failing write from the host: SIGPIPE (no reader) and SIGXFSZ (over the file size limit).
///
/// The kernel sends both to the *writing thread* (signal(7), setrlimit(2)); by default they kill the process. They are blocked on
/// this thread for the call, and removed from the thread's pending set if the call raised them; then the mask is restored.
/// Process-wide dispositions do not change, and a signal that was pending before stays pending. So no preparation is needed, and
/// it also works on a reporter thread that blocks the signals anyway. Cost: two calls of `pthread_sigmask` and one of
/// `sigpending` a write.
enum WriteSignalGuard {
    static func withoutSignals(_ body: () -> (count: Int, code: Int32)) -> (count: Int, code: Int32) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        sigaddset(&signals, SIGXFSZ)
        var before = sigset_t()
        var pending = sigset_t()
        guard pthread_sigmask(SIG_BLOCK, &signals, &before) == 0 else { return (-1, EINVAL) }
        sigpending(&pending)

        let outcome = body()

        if outcome.count < 0, outcome.code == EPIPE { take(SIGPIPE, unlessIn: &pending) }
        if outcome.count < 0, outcome.code == EFBIG { take(SIGXFSZ, unlessIn: &pending) }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        return outcome
    }

    private static func take(_ signal: Int32, unlessIn pendingBefore: inout sigset_t) {
        guard sigismember(&pendingBefore, signal) == 0 else { return }
        var one = sigset_t()
        sigemptyset(&one)
        sigaddset(&one, signal)
        var noWait = timespec()
        while sigtimedwait(&one, nil, &noWait) < 0, errno == EINTR {}
    }
}
