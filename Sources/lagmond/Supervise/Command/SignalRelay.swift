internal import CLagBeacon
internal import CLagLinux
internal import Glibc

/// Which signals that come to us the command has to get from us, and when its stop is ours.
struct SignalRelay {
    private let child: pid_t
    private var stoppedAtTerminal: UInt64 = 0
    private let now: () -> UInt64

    init(child: pid_t, now: @escaping () -> UInt64 = clb_now_ns) {
        self.child = child
        self.now = now
    }

    /// - Parameters:
    ///   - code: `si_code`.
    ///   - sender: `si_pid`; 0 when no process sent it.
    mutating func forwards(signal: Int32, code: Int32, sender: pid_t) -> Bool {
        switch signal {
        case SIGCHLD:
            // A child's change of state has a code of its own; one that somebody sent is for the command.
            return code == CLL_SIGNAL_OF_PROCESS && sender != child
        case SIGCONT:
            // The kernel continues whom it was sent to by itself: WrappedProcess looks whether the command was among them.
            return false
        case SIGTSTP, SIGTTIN, SIGTTOU:
            stoppedAtTerminal = now()
        default: break
        }
        // The terminal's go to the whole group, and so do those that the command sends to its group.
        if code == CLL_SIGNAL_OF_KERNEL || sender == child { return false }
        return code == CLL_SIGNAL_OF_PROCESS || code == CLL_SIGNAL_QUEUED || code == CLL_SIGNAL_OF_THREAD
    }

    /// The command has stopped: by which signal we stop as well; `nil` when we go on.
    ///
    /// What the terminal stops is a matter of the whole job, and a shell waits for us to say so. One that was stopped by SIGSTOP from
    /// anywhere is what a watchdog is to report; unless it stops itself so at the terminal's word.
    func stopSignal(childStoppedBy signal: Int32) -> Int32? {
        switch signal {
        case SIGTSTP, SIGTTIN, SIGTTOU: signal
        case SIGSTOP where stoppedAtTerminal != 0 && now() &- stoppedAtTerminal < Self.jobControlNanoseconds: signal
        default: nil
        }
    }

    /// An editor puts the screen in order before it stops.
    private static let jobControlNanoseconds: UInt64 = 3_000_000_000
}
