internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// A target that is a command: started in its own session, watched, and restarted if its settings require it.
final class CommandTarget: Target {
    private struct State {
        var settings: TargetSettings
        var configuration: RemoteConfiguration
        var end: WrappedProcess.Termination?
        var statistics: StallMonitorStatistics?
    }

    private let words: [String]
    private let watch: CommandWatch
    private let state: Mutex<State>
    private let onEnd: @Sendable () -> Void
    /// Whether the thread that waits for the command has ended.
    private let hasEnded = Atomic(false)
    private let hasStarted = Atomic(false)
    /// Whether the watch runs; otherwise no answer to a probe is expected.
    private let isWatched = Atomic(false)

    /// The service manager's protocol with lagmond, which the command must not use.
    private static let ownVariables = [
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "MAINPID",
        "INVOCATION_ID",
    ]

    init(_ settings: TargetSettings, _ words: [String], _ dependencies: TargetDependencies) throws(StartFailure) {
        self.words = words
        var environment = ChildEnvironment.current()
        for name in Self.ownVariables { environment.remove(name) }
        do throws(StartFailure) {
            let launcher = try CommandLauncher(
                WrappedCommand(words: words),
                signals: dependencies.inherited,
                environment: environment
            )
            let configuration = try settings.remoteConfiguration()
            watch = CommandWatch(
                name: settings.name,
                launcher: launcher,
                configuration: configuration,
                policy: settings.policy,
                sink: dependencies.sink,
                live: dependencies.live
            )
            state = Mutex(State(settings: settings, configuration: configuration))
        } catch {
            throw error.ofTarget(settings.name)
        }
        onEnd = dependencies.onEnd
    }

    var settings: TargetSettings { state.withLock { $0.settings } }
    var end: WrappedProcess.Termination? { state.withLock { $0.end } }
    var status: TargetStatus { watch.status }
    var lags: [StallCounts.LoopKey: UInt64] { watch.lags }
    var statistics: StallMonitorStatistics { watch.statistics }
    func covers(_ process: Int32) -> Bool { watch.covers(process) }

    func probeLiveness() -> LivenessProbe.Check {
        watch.probeLiveness().expected { [self] in isWatched.load(ordering: .acquiring) }
    }

    func start() throws(StartFailure) {
        guard !watch.lifecycle.isStopping else { return }
        try watch.start()
        isWatched.store(true, ordering: .releasing)
        hasStarted.store(true, ordering: .releasing)
        do throws(StartFailure) {
            let process = try watch.startCommand(ownSession: true)
            try HelperThread.start("target-command") { [self] in
                finish(watch.supervise(process, ownSession: true, waitForEnd: waitForEnd(of:), pause: pause))
            }
        } catch {
            hasEnded.store(true, ordering: .releasing)
            isWatched.store(false, ordering: .releasing)
            watch.stop()
            throw error.ofTarget(settings.name)
        }
    }

    private static let pollMilliseconds: Int32 = 100
    private static let returnWait: Duration = .seconds(10)

    private func waitForEnd(of process: WrappedProcess) -> WrappedProcess.Termination {
        while true {
            if let end = process.ended() { return end }
            var entry = pollfd(fd: process.pidfd, events: Int16(POLLIN), revents: 0)
            // Without a descriptor, this thread must poll for the end.
            _ = poll(&entry, 1, process.pidfd < 0 ? Self.pollMilliseconds : -1)
        }
    }

    /// - Returns: how it ended the last time, if it is stopped meanwhile.
    private func pause(_ time: Duration) -> WrappedProcess.Termination? {
        let deadline = MonotonicTime.now + time
        while !watch.lifecycle.isStopping {
            if MonotonicTime.now >= deadline { return nil }
            usleep(50_000)
        }
        return watch.lifecycle.status.lastEnd ?? .exited(0)
    }

    private func finish(_ end: WrappedProcess.Termination) {
        let isOwnEnd = !watch.lifecycle.isStopping
        hasEnded.store(true, ordering: .releasing)
        guard isOwnEnd else { return }
        if watch.lifecycle.status.phase != .givenUp { watch.lifecycle.say("the command \(end)") }
        if var remaining = watch.remainingProcesses {
            remaining.settle()
            if let message = remaining.message(isWatchOver: false) {
                watch.lifecycle.say(message)
            }
        }
        state.withLock { $0.end = end }
        onEnd()
    }

    func accepts(_ settings: TargetSettings) throws(StartFailure) -> Bool {
        _ = try settings.remoteConfiguration()
        return settings.kind == .command(words)
    }

    func change(to settings: TargetSettings) throws(StartFailure) {
        let configuration = try settings.remoteConfiguration()
        let isSame = state.withLock { state in
            defer { (state.settings, state.configuration) = (settings, configuration) }
            return state.configuration == configuration
        }
        try watch.change(isSame ? nil : configuration, settings.policy)
    }

    func stop() {
        watch.lifecycle.stop()
        // The thread that waits for the command is about to return then.
        var deadline = MonotonicTime.now + Self.returnWait
        while hasStarted.load(ordering: .acquiring), !hasEnded.load(ordering: .acquiring), MonotonicTime.now < deadline {
            // Another thread is ending it, because of a hang or during its start: that takes the grace period as well.
            if watch.lifecycle.isBeingEnded { deadline = .now + Self.returnWait }
            usleep(2000)
        }
        isWatched.store(false, ordering: .releasing)
        watch.stop()
    }
}
