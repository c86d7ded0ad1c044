internal import CLagLinux
internal import CLagRemote
internal import Glibc
internal import LagMonitor

/// A command that runs in lagmond's place: the parent can signal it, stop it and wait for its end as if lagmond were not there.
///
/// It is in lagmond's process group and session, so a terminal's signals reach it directly; signals sent to lagmond alone are
/// forwarded (``SignalRelay``). When it stops at the terminal, lagmond stops too, and the shell shows its prompt; when it ends,
/// ``exitProcess(as:)`` ends lagmond the same way.
struct WrappedProcess {
    enum Termination: Equatable {
        case exited(Int32)
        case killed(Int32)
    }

    let pid: pid_t
    /// Refers to this process even after its process ID is reused. Open until ``closeDescriptor()``. -1 if the kernel or a filter
    /// has none.
    let pidfd: Int32
    private let signals: InheritedSignals

    /// Starts the program with the signals and the descriptors that lagmond inherited.
    /// - Parameter ownSession: without a terminal, as the leader of a new session and process group.
    /// - Throws: ``StartFailure`` with a shell's status.
    static func start(
        _ command: WrappedCommand,
        _ program: ProgramFile,
        environment: ChildEnvironment,
        signals: InheritedSignals,
        ownSession: Bool = false
    ) throws(StartFailure) -> WrappedProcess {
        let session: Int32 = ownSession ? 1 : 0
        var (pid, pidfd): (pid_t, Int32) = (0, -1)
        var state = signals.state
        var code = environment.withPointers { pointers in
            clr_wrap_start(program.path, command.arguments, pointers, &state, session, &pid, &pidfd)
        }
        if code == ENOEXEC {
            // A script without `#!` is run by a shell, as in execvp(3).
            code = environment.withPointers { pointers in
                ShellScript.withArguments(program.path, command.arguments) { arguments in
                    clr_wrap_start("/bin/sh", arguments, pointers, &state, session, &pid, &pidfd)
                }
            }
        }
        guard code == 0 else { throw WrappedCommand.failure(command.name, code) }
        return WrappedProcess(pid: pid, pidfd: pidfd, signals: signals)
    }

    /// Supervises the command until it has ended. Call it on one thread, after ``InheritedSignals/block()``.
    /// - Parameters:
    ///   - onEndSignal: called for each SIGTERM, SIGINT and SIGQUIT, whatever its source, before it is forwarded.
    ///   - afterEndSignal: called for each of them after the command received it, with the time when lagmond received it.
    func supervise(onEndSignal: (Int32) -> Void = { _ in }, afterEndSignal: (MonotonicTime) -> Void = { _ in }) -> Termination {
        var relay = SignalRelay(child: pid)
        while true {
            if let end = followChanges(&relay) { return end }
            clr_wrap_reap_orphans()
            var event = clr_signal_event()
            clr_wrap_wait(&event)
            let came = MonotonicTime.now
            let isEndSignal = [SIGTERM, SIGINT, SIGQUIT].contains(event.signal)
            if isEndSignal { onEndSignal(event.signal) }
            if event.signal == SIGCONT {
                continueCommand()
            } else if relay.stopsAlone(signal: event.signal, code: event.code) {
                // The command is already stopped: it will not stop again, which would otherwise stop lagmond.
                stop(by: event.signal)
            } else if relay.forwards(signal: event.signal, code: event.code, sender: event.sender) {
                _ = clr_wrap_forward(pid, pidfd, &event)
            }
            if isEndSignal { afterEndSignal(came) }
        }
    }

    /// How it ended; nil while it runs. Waits, for some 100 ms at most, if a tracer of ours is about to handle a stop of it.
    func ended() -> Termination? {
        while true {
            var value: Int32 = 0
            switch clr_wrap_change(pid, pidfd, &value) {
            case Int32(CLR_CHANGE_EXITED): return .exited(value)
            case Int32(CLR_CHANGE_KILLED): return .killed(value)
            case Int32(CLR_CHANGE_STOPPED), Int32(CLR_CHANGE_CONTINUED): continue
            default: return nil
            }
        }
    }

    /// Call it after the process has ended and was waited for.
    func closeDescriptor() { if pidfd >= 0 { close(pidfd) } }

    func send(_ signal: Int32) { _ = clr_wrap_send(pid, pidfd, signal) }

    private func followChanges(_ relay: inout SignalRelay) -> Termination? {
        while true {
            var value: Int32 = 0
            switch clr_wrap_change(pid, pidfd, &value) {
            case Int32(CLR_CHANGE_EXITED): return .exited(value)
            case Int32(CLR_CHANGE_KILLED): return .killed(value)
            case Int32(CLR_CHANGE_STOPPED):
                if let signal = relay.stopSignal(childStoppedBy: value) { stop(by: signal) }
            case Int32(CLR_CHANGE_CONTINUED): relay.recordContinued()
            default: return nil
            }
        }
    }

    /// Returns when lagmond is continued.
    private func stop(by signal: Int32) {
        var state = signals.state
        let count = clr_wrap_stop_by(signal, &state)
        // Stopped twice and continued twice: a later stop of the command was in between, and is over as well.
        continueCommand(alsoLaterStops: count > 1)
    }

    /// lagmond was continued: continues the command, unless it received the signal too.
    private func continueCommand(alsoLaterStops: Bool = false) {
        for _ in 0..<Self.continuePolls {
            // The stop that also stopped lagmond is still pending: the signal that continued lagmond did not reach the command,
            // because it would have cancelled the stop.
            if !isStopped, clr_wrap_has_terminal_stop(pid) != 0, clr_wrap_has_terminal_stop(0) == 0 { return send(SIGCONT) }
            // A change that is not reported yet is a later one: the command was continued, and possibly stopped again; that stop
            // must stay.
            guard isStopped, alsoLaterStops || clr_wrap_has_later_change(pid, pidfd) == 0 else { return }
            usleep(Self.continuePollMicroseconds)
        }
        send(SIGCONT)
    }

    /// A shell continues the whole group, one process after the other.
    private static let continuePolls = 20
    private static let continuePollMicroseconds: UInt32 = 1000

    private var isStopped: Bool {
        var status = cll_thread_status()
        return cll_procfs_status(pid, 0, &status) == 0 && status.state == CChar(UInt8(ascii: "T"))
    }

    /// Ends this process the way the command ended: with its exit status, or killed by its signal.
    static func exitProcess(as end: Termination) -> Never {
        Diagnostics.flush()
        switch end {
        case .exited(let status): _exit(status)
        case .killed(let signal): clr_wrap_die_by(signal)
        }
    }
}

/// The blocked and ignored signals and the open descriptors with which this process started; the command inherits them.
struct InheritedSignals: Sendable {
    fileprivate let state: clr_signal_state

    /// Call it first in `main`, before anything changes.
    static func take() -> InheritedSignals {
        var state = clr_signal_state()
        clr_signal_state_save(&state)
        return InheritedSignals(state: state)
    }

    /// Blocks all signals that may be forwarded, in this thread and those that it starts. Call it before any other thread starts.
    func block() { clr_wrap_block() }

    /// Waits between two runs of a command, on the supervising thread.
    /// - Returns: a signal that asks lagmond to exit and is not ignored; nil: the time is over.
    func waitWithoutCommand(for time: Duration) -> Int32? {
        let deadline = MonotonicTime.now + time
        while true {
            let left = (deadline - .now).wholeNanoseconds
            var event = clr_signal_event()
            clr_wrap_reap_orphans()
            guard left > 0 else { return nil }
            // The kernel keeps a blocked signal pending, even if it is ignored.
            if clr_wrap_wait_for(&event, left) != 0, [SIGTERM, SIGINT, SIGHUP, SIGQUIT].contains(event.signal),
                state.ignored & clr_signal_bit(event.signal) == 0
            {
                return event.signal
            }
        }
    }
}

/// `sh FILE ARGUMENTS…`
private enum ShellScript {
    static func withArguments<Result>(
        _ path: String,
        _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>,
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let names = [strdup("sh"), strdup(path)]
        defer { for name in names { free(name) } }
        var list: [UnsafeMutablePointer<CChar>?] = names
        var at = arguments + 1
        while let argument = at.pointee {
            list.append(argument)
            at += 1
        }
        list.append(nil)
        return list.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
    }
}
