internal import CLagLinux
internal import Glibc
internal import LagMonitor

/// The signals that control a run. They are blocked in every thread and received by one thread that waits for them, so
/// they never interrupt code, and no signal handlers are needed.
struct StopSignals {
    enum Event: Equatable {
        /// SIGTERM or SIGINT.
        case stop(Int32)
        /// SIGHUP: reopen the output.
        case reopen
        /// SIGCHLD: check the targets.
        case child
        /// The deadline was reached first.
        case deadlineReached
    }

    private var set = sigset_t()

    init() {
        sigemptyset(&set)
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGCHLD] { sigaddset(&set, signal) }
    }

    /// Blocks them in the calling thread and in every thread that it starts from now on. Call it first in `main`. A closed
    /// pipe becomes an error of `write` instead of a signal.
    func block() {
        var set = set
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
        // The same for a file size limit.
        signal(SIGXFSZ, SIG_IGN)
        // If the parent had ignored it, the end of a child would not be reported.
        signal(SIGCHLD, SIG_DFL)
    }

    /// Waits for the next one, at most until `deadline`.
    func wait(until deadline: MonotonicTime) -> Event {
        var set = set
        while true {
            let left = deadline - .now
            guard left > .zero else { return .deadlineReached }
            // The kernel's limit is far above a day; an unlimited run reads the clock once a day.
            let nanoseconds = min(left, Self.longestWait).wholeNanoseconds
            var timeout = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
            switch sigtimedwait(&set, nil, &timeout) {
            case SIGHUP: return .reopen
            case SIGCHLD: return .child
            case let signal where signal > 0: return .stop(signal)
            default: continue
            }
        }
    }

    private static let longestWait: Duration = .seconds(86_400)
}
