internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import LagWorkload
internal import Synchronization

/// A target that is a command: started in a session of its own, watched, and started again where its settings say so.
// Unchecked: `run` holds pointers into memory of its own that nobody writes; the rest is immutable, atomic or in a Mutex.
final class CommandTarget: Target, @unchecked Sendable {
    private struct State {
        var settings: TargetSettings
        var configuration: RemoteConfiguration
        var end: WrappedProcess.Termination?
        var statistics: StallMonitorStatistics?
    }

    private let words: [String]
    private let run: CommandLauncher
    private let watch: CommandWatch
    private let state: Mutex<State>
    private let onEnd: @Sendable () -> Void
    /// The thread that waits for the command has come to its end.
    private let hasEnded = Atomic(false)
    private let hasStarted = Atomic(false)
    /// The watch runs; before and after that it owes no answer.
    private let isWatched = Atomic(false)

    /// The service manager's words with lagmond, and descriptors that it gave to lagmond: none of the command's business.
    private static let ownVariables = [
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "MAINPID",
        "INVOCATION_ID",
    ]

    init(_ settings: TargetSettings, _ words: [String], _ dependencies: TargetDependencies) throws(StartFailure) {
        self.words = words
        var environment = ChildEnvironment.current()
        for name in Self.ownVariables { environment.remove(name) }
        do throws(StartFailure) {
            run = try CommandLauncher(WrappedCommand(words: words), signals: dependencies.inherited, environment: environment)
            let configuration = try settings.monitor.forCommand(choosesRules: settings.choosesRules, settings.policy)
            watch = CommandWatch(
                name: settings.name,
                loopTable: run.loopTable,
                configuration: configuration,
                policy: settings.policy,
                sink: dependencies.sink,
                live: dependencies.live
            )
            state = Mutex(State(settings: settings, configuration: configuration))
        } catch {
            throw StartFailure(status: error.status, message: "targets: \(settings.name): \(error.message)")
        }
        onEnd = dependencies.onEnd
    }

    var settings: TargetSettings { state.withLock { $0.settings } }
    var end: WrappedProcess.Termination? { state.withLock { $0.end } }
    var status: TargetStatus { watch.status }
    var lags: [StallCounts.LoopKey: UInt64] { watch.lags }
    var statistics: StallMonitorStatistics { watch.statistics }
    func probeLiveness() -> LivenessProbe.Check {
        let call = watch.probeLiveness()
        return { [self] in !isWatched.load(ordering: .acquiring) || call() }
    }

    func start() throws(StartFailure) {
        guard !watch.lifecycle.isStopping else { return }
        try watch.start()
        isWatched.store(true, ordering: .releasing)
        do throws(StartFailure) {
            let process = try run.start(ownSession: true)
            hasStarted.store(true, ordering: .releasing)
            recordStart(of: process)
            try begin(process)
            if watch.lifecycle.isStopping { watch.lifecycle.stop() }
        } catch {
            isWatched.store(false, ordering: .releasing)
            watch.stop()
            throw StartFailure(status: error.status, message: "targets: \(settings.name): \(error.message)")
        }
    }

    private func recordStart(of process: WrappedProcess) {
        watch.lifecycle.started(process)
        if let obstacle = run.obstacle { watch.attach(to: process.pid, because: obstacle) }
    }

    private func begin(_ process: WrappedProcess) throws(StartFailure) {
        do throws(WorkloadError) {
            try WorkerThread.start { [self] in supervise(startingWith: process) }
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "no thread: \(error)")
        }
    }

    /// The thread's body: until the command has ended for good.
    private func supervise(startingWith first: WrappedProcess) {
        var next = waitForEnd(of: first)
        while true {
            switch next {
            case .finish(let end): return finish(end)
            case .restart(let delay):
                guard sleep(delay) else { return finish(watch.lifecycle.status.lastEnd ?? .exited(0)) }
                do throws(StartFailure) {
                    let process = try run.start(ownSession: true)
                    recordStart(of: process)
                    // Who asked for an end just before found no process.
                    if watch.lifecycle.isStopping { watch.lifecycle.stop() }
                    next = waitForEnd(of: process)
                } catch {
                    next = watch.lifecycle.failedToStart(error)
                }
            }
        }
    }

    private func waitForEnd(of process: WrappedProcess) -> CommandLifecycle.Next {
        while true {
            if let end = process.ended() { return watch.lifecycle.ended(end) }
            var entry = pollfd(fd: process.pidfd, events: Int16(POLLIN), revents: 0)
            _ = poll(&entry, 1, -1)
        }
    }

    /// - Returns: false when it is to end meanwhile.
    private func sleep(_ time: Duration) -> Bool {
        let deadline = MonotonicTime.now + time
        while MonotonicTime.now < deadline {
            if watch.lifecycle.isStopping { return false }
            usleep(50_000)
        }
        return !watch.lifecycle.isStopping
    }

    private func finish(_ end: WrappedProcess.Termination) {
        let isOwnEnd = !watch.lifecycle.isStopping
        hasEnded.store(true, ordering: .releasing)
        guard isOwnEnd else { return }
        if watch.lifecycle.status.phase != .givenUp { watch.lifecycle.say("the command \(end)") }
        state.withLock { $0.end = end }
        onEnd()
    }

    func change(to settings: TargetSettings) throws(StartFailure) -> Bool {
        guard case .command(words) = settings.kind else { return false }
        let configuration = try settings.monitor.forCommand(choosesRules: settings.choosesRules, settings.policy)
        let isSame = state.withLock { state in
            defer { (state.settings, state.configuration) = (settings, configuration) }
            return state.configuration == configuration
        }
        do throws(WorkloadError) {
            try watch.change(isSame ? nil : configuration, settings.policy)
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "no thread: \(error)")
        }
        return true
    }

    func stop() {
        watch.lifecycle.stop()
        // It has ended; whoever waits for it is about to notice.
        let deadline = MonotonicTime.now + .seconds(10)
        while hasStarted.load(ordering: .acquiring), !hasEnded.load(ordering: .acquiring), MonotonicTime.now < deadline {
            usleep(2000)
        }
        isWatched.store(false, ordering: .releasing)
        watch.stop()
    }
}
