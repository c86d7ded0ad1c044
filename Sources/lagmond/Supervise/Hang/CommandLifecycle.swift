internal import Glibc
internal import LagMonitor
internal import Synchronization

/// The lifecycle of one command over its restarts: which thread may end it, what follows an end, and what is reported.
///
/// Any thread. One thread waits for the command and calls ``ended(_:at:)`` for the next step; the thread that watches for hangs
/// may end it.
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
        /// The number of signals sent because of hangs.
        var signals: UInt64 = 0
        var lastEnd: WrappedProcess.Termination?
    }

    enum Next: Equatable {
        /// The command has ended for good, in this way.
        case finish(WrappedProcess.Termination)
        /// Start the command again, after this time.
        case restart(after: Duration)
    }

    private struct State {
        var status = Status()
        var policy: CommandPolicy
        var rule: RestartRule
        var process: WrappedProcess?
        var startedAt = MonotonicTime.now
        /// Since when a restart is due: when the hang began for which it is being ended, or when its start failed.
        var restartSince: MonotonicTime?
        /// Whether it must end for good.
        var isStopping = false
        /// When the last signal that ends programs arrived.
        var endSignalAt: MonotonicTime?
        /// The same without SIGQUIT, which users also send to a hanging program to get its stacks.
        var endRequestAt: MonotonicTime?
        /// Whether a thread is ending it and still uses its descriptor.
        var isBeingEnded = false
    }

    /// The prefix of its messages: empty, or the target's name and a colon.
    private let label: String
    private let state: Mutex<State>
    /// Called when the command is about to be ended, before its first signal; returns at once.
    private let onEnding: @Sendable () -> Void

    init(label: String, policy: CommandPolicy, onEnding: @escaping @Sendable () -> Void = {}) {
        self.label = label
        self.onEnding = onEnding
        state = Mutex(State(policy: policy, rule: RestartRule(policy.restarts)))
    }

    var status: Status { state.withLock { $0.status } }

    /// The current policy; an action in progress finishes with the earlier one.
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

    /// Call it when the command has ended and was waited for. Waits until the thread that ended it has finished with the
    /// remaining processes.
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

    /// Call it when a restart failed.
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
        // A hang that was in progress at such a signal, or that the signal caused, means that the command does not end as
        // requested.
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

    /// Ends a hanging command; the thread that waits for it restarts it, unless it was asked to end. Returns when it has ended.
    /// - Parameter began: when the hang began; a request to end may precede the action by a long time.
    /// - Returns: false if there is nothing to end, or if it is already being ended.
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

    /// Ends it for good. Returns when it has ended, or at once if another thread is ending it (``isBeingEnded``).
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

    /// A signal that ends programs arrived: an end soon after it is intended, whatever the status.
    func recordEndSignal(_ signal: Int32, at now: MonotonicTime = .now) {
        state.withLock { state in
            state.endSignalAt = now
            if signal != SIGQUIT { state.endRequestAt = now }
        }
    }

    /// Whether a thread is ending it, which takes at most the grace period and some seconds.
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
    /// As systemd's `Restart=on-failure` defines it: a status other than 0, or a signal that is not a normal request to exit.
    var isFailure: Bool {
        switch self {
        case .exited(let status): status != 0
        case .killed(let signal): ![SIGHUP, SIGINT, SIGTERM, SIGPIPE].contains(signal)
        }
    }

    /// A phrase to follow `it`.
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
