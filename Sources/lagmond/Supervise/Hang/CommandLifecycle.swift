internal import Glibc
internal import LagMonitor
internal import Synchronization

/// The lifecycle of one command over its restarts: who may end it, what follows an end, and what is reported of it.
///
/// Any thread. One thread waits for the command and asks ``ended(_:at:)`` what is next; the one that watches for hangs may end it.
final class CommandLifecycle: Sendable {
    enum Phase: String, Sendable {
        case starting, running, ending, waiting, ended
        case givenUp = "given_up"
    }

    struct Status: Sendable {
        var phase = Phase.starting
        /// 0 while none runs.
        var pid: pid_t = 0
        var restarts: UInt64 = 0
        /// Signals that a hang led to.
        var signals: UInt64 = 0
        var lastEnd: WrappedProcess.Termination?
    }

    enum Next: Equatable {
        /// For good, as the command ended.
        case finish(WrappedProcess.Termination)
        /// Once more, after that time.
        case restart(after: Duration)
    }

    private struct State {
        var status = Status()
        var policy: CommandPolicy
        var rule: RestartRule
        var process: WrappedProcess?
        var startedAt = MonotonicTime.now
        /// Since when it is to be started again: when the hang began for which it is being ended, or its start that failed.
        var restartSince: MonotonicTime?
        /// It is to end for good.
        var isStopping = false
        /// When a signal that ends programs last came.
        var endSignalAt: MonotonicTime?
        /// The same without SIGQUIT, which also asks a program that hangs for its stacks.
        var endRequestAt: MonotonicTime?
        /// A thread is ending it, and still uses its descriptor.
        var isBeingEnded = false
    }

    /// The prefix of its messages: empty, or the target's name and a colon.
    private let label: String
    private let state: Mutex<State>
    /// Called when the command is to end, before its first signal; returns at once.
    private let onEnding: @Sendable () -> Void

    init(label: String, policy: CommandPolicy, onEnding: @escaping @Sendable () -> Void = {}) {
        self.label = label
        self.onEnding = onEnding
        state = Mutex(State(policy: policy, rule: RestartRule(policy.restarts)))
    }

    var status: Status { state.withLock { $0.status } }

    /// What holds from now on, for an action in progress from the next one.
    var policy: CommandPolicy {
        get { state.withLock { $0.policy } }
        set {
            state.withLock {
                $0.policy = newValue
                $0.rule.limits = newValue.restarts
            }
        }
    }

    func say(_ message: String) { Diagnostics.report(label + message) }

    func started(_ process: WrappedProcess) {
        state.withLock { state in
            state.process = process
            state.startedAt = .now
            state.status.phase = .running
            state.status.pid = process.pid
        }
    }

    /// The command has ended and was waited for. Waits for who ended it to be done with what it left.
    func ended(_ end: WrappedProcess.Termination, at now: MonotonicTime = .now) -> Next {
        while state.withLock({ $0.isBeingEnded }) { usleep(5000) }
        let (next, text) = state.withLock { state -> (Next, String?) in
            state.process?.closeDescriptor()
            state.process = nil
            return decide(&state, end, now)
        }
        if let text { say(text) }
        return next
    }

    /// It could not be started another time.
    func failedToStart(_ failure: StartFailure) -> Next {
        say(failure.message)
        let (next, text) = state.withLock { state in
            state.restartSince = .now
            state.startedAt = .now
            return decide(&state, .exited(failure.status), .now)
        }
        if let text { say(text) }
        return next
    }

    private func decide(_ state: inout State, _ end: WrappedProcess.Termination, _ now: MonotonicTime) -> (Next, String?) {
        state.status.pid = 0
        state.status.lastEnd = end
        let isAsked = state.restartSince != nil
        // A hang that lasts since such a signal, or that the signal led to, is how the command does not end as it was asked to.
        let signalAt = isAsked ? state.endRequestAt : state.endSignalAt
        let since = state.restartSince ?? now
        state.restartSince = nil
        let isMeant = state.isStopping || signalAt.map { since - $0 <= state.policy.stopGrace } ?? false
        guard !isMeant, isAsked || state.policy.restartsOnFailure && end.isFailure else {
            state.status.phase = .ended
            return (.finish(end), nil)
        }
        switch state.rule.decide(at: now, ranFor: now - state.startedAt, randomFraction: .random(in: 0..<1)) {
        case .start(let delay):
            state.status.phase = .waiting
            state.status.restarts += 1
            return (.restart(after: delay), "\(isAsked ? "" : "the command \(end); ")restarting it in \(delay.shown)")
        case .giveUp:
            state.status.phase = .givenUp
            let limits = state.policy.restarts
            let often = limits.count == 1 ? "once" : "\(limits.count) times"
            let bound =
                limits.count == 0 ? "command.restart_count is 0" : "was restarted \(often) within \(limits.window.shown)"
            return (.finish(end), "giving up on the command: it \(end), and \(bound)")
        }
    }

    /// A hang: the command is ended, and started again by who waits for it, unless it was asked to end. Returns when it has ended.
    /// - Parameter began: the hang, by the time of whose action the request to end may be long ago.
    /// - Returns: false when there is nothing to end, or it is being ended.
    func restart(because reason: String, began: MonotonicTime) -> Bool {
        let found = state.withLock { state -> (WrappedProcess, Duration)? in
            guard let process = state.process, !state.isBeingEnded, !state.isStopping else { return nil }
            state.restartSince = began
            state.isBeingEnded = true
            state.status.phase = .ending
            return (process, state.policy.stopGrace)
        }
        guard let (process, grace) = found else { return false }
        say("\(reason): stopping the command (SIGTERM, after \(grace.shown) SIGKILL)")
        finishEnding(process, grace)
        return true
    }

    /// Ends it for good. Returns when it has ended, at once where another thread is ending it (``isBeingEnded``).
    func stop() {
        let found = state.withLock { state -> (WrappedProcess, Duration)? in
            state.isStopping = true
            guard let process = state.process, !state.isBeingEnded else { return nil }
            state.isBeingEnded = true
            state.status.phase = .ending
            return (process, state.policy.stopGrace)
        }
        if let (process, grace) = found { finishEnding(process, grace) }
    }

    /// A signal that ends programs came: an end soon after it is intended, whatever the status.
    func recordEndSignal(_ signal: Int32, at now: MonotonicTime = .now) {
        state.withLock { state in
            state.endSignalAt = now
            if signal != SIGQUIT { state.endRequestAt = now }
        }
    }

    /// Whether a thread is ending it, which takes no longer than the grace and some seconds.
    var isBeingEnded: Bool { state.withLock { $0.isBeingEnded } }

    /// Whether it was asked to end, by lagmond or by a signal.
    var isAskedToEnd: Bool { state.withLock { $0.isStopping || $0.endSignalAt != nil } }

    /// Whether ``stop()`` was called.
    var isStopping: Bool { state.withLock { $0.isStopping } }

    private func finishEnding(_ process: WrappedProcess, _ grace: Duration) {
        onEnding()
        if CommandShutdown(process: process, grace: grace).run() {
            say("the command did not exit within \(grace.shown): SIGKILL to all its processes")
        }
        state.withLock { $0.isBeingEnded = false }
    }

    func recordSignal() { state.withLock { $0.status.signals += 1 } }
}

extension WrappedProcess.Termination: CustomStringConvertible {
    /// As systemd's `Restart=on-failure` defines it: a status other than 0, and signals that do not end a program in order.
    var isFailure: Bool {
        switch self {
        case .exited(let status): status != 0
        case .killed(let signal): ![SIGHUP, SIGINT, SIGTERM, SIGPIPE].contains(signal)
        }
    }

    /// After `it`.
    var description: String {
        switch self {
        case .exited(let status): "exited with status \(status)"
        case .killed(let signal): "was killed by \(SignalName(number: signal))"
        }
    }
}

extension Duration {
    /// For people.
    var shown: String { DurationText.text(self) }
}
