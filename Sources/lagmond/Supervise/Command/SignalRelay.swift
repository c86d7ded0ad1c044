internal import CLagBeacon
internal import CLagRemote
internal import Glibc

/// Decides which signals to lagmond are forwarded to the command, and when lagmond stops with it.
struct SignalRelay {
    private let child: pid_t
    private var stoppedAtTerminal: UInt64 = 0
    /// The command is stopped, and lagmond is not.
    private var isChildHeld = false
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
            // A child's change of state has its own code; a SIGCHLD sent by another process is for the command.
            return code == CLR_SIGNAL_OF_PROCESS && sender != child
        case SIGCONT:
            // The kernel itself continues the receivers; WrappedProcess checks whether the command was one of them.
            return false
        case SIGTSTP, SIGTTIN, SIGTTOU:
            stoppedAtTerminal = now()
        default: break
        }
        // Signals of the terminal, and those that the command sends to its group, reach the whole group.
        if code == CLR_SIGNAL_OF_KERNEL || sender == child { return false }
        return code == CLR_SIGNAL_OF_PROCESS || code == CLR_SIGNAL_QUEUED || code == CLR_SIGNAL_OF_THREAD
    }

    /// The command has stopped: returns the signal with which lagmond stops too; nil if lagmond keeps running.
    ///
    /// A stop at the terminal concerns the whole job, and the shell waits for lagmond to stop. A stop by SIGSTOP from another process
    /// is for the monitor to report, unless the command stops itself that way because of the terminal.
    mutating func stopSignal(childStoppedBy signal: Int32) -> Int32? {
        let isOfTerminal =
            switch signal {
            case SIGTSTP, SIGTTIN, SIGTTOU: true
            case SIGSTOP: stoppedAtTerminal != 0 && now() &- stoppedAtTerminal < Self.jobControlNanoseconds
            default: false
            }
        isChildHeld = !isOfTerminal
        return isOfTerminal ? signal : nil
    }

    mutating func recordContinued() { isChildHeld = false }

    /// Whether lagmond stops by a signal at once: the terminal stops the job, of which the command is stopped already (`kill -STOP $$`).
    func stopsAlone(signal: Int32, code: Int32) -> Bool {
        isChildHeld && code == CLR_SIGNAL_OF_KERNEL && [SIGTSTP, SIGTTIN, SIGTTOU].contains(signal)
    }

    /// How long a stop may take: an editor restores the screen before it stops.
    private static let jobControlNanoseconds: UInt64 = 3_000_000_000
}
