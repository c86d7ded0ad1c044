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
        var configuration: ForeignConfiguration
        var end: WrappedProcess.End?
        var statistics: LagMonitorStatistics?
    }

    private let words: [String]
    private let run: WrappedRun
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

    init(_ settings: TargetSettings, _ words: [String], _ surroundings: TargetSurroundings) throws(StartFailure) {
        self.words = words
        var environment = ChildEnvironment.current()
        for name in Self.ownVariables { environment.remove(name) }
        do throws(StartFailure) {
            run = try WrappedRun(WrappedCommand(words: words), signals: surroundings.inherited, environment: environment)
            let configuration = try settings.monitor.forCommand(choosesRules: settings.choosesRules, settings.policy)
            watch = CommandWatch(
                name: settings.name,
                page: run.page,
                configuration: configuration,
                policy: settings.policy,
                sink: surroundings.sink,
                live: surroundings.live
            )
            state = Mutex(State(settings: settings, configuration: configuration))
        } catch {
            throw StartFailure(status: error.status, message: "targets: \(settings.name): \(error.message)")
        }
        onEnd = surroundings.onEnd
    }

    var settings: TargetSettings { state.withLock { $0.settings } }
    var end: WrappedProcess.End? { state.withLock { $0.end } }
    var status: TargetStatus { watch.status }
    var lags: [StallCounts.Place: UInt64] { watch.lags }
    var statistics: LagMonitorStatistics { watch.statistics }
    func callRoll() -> RollCall.Call {
        let call = watch.callRoll()
        return { [self] in !isWatched.load(ordering: .acquiring) || call() }
    }

    func start() throws(StartFailure) {
        guard !watch.life.isStopping else { return }
        try watch.start()
        isWatched.store(true, ordering: .releasing)
        do throws(StartFailure) {
            let process = try run.start(ownSession: true)
            hasStarted.store(true, ordering: .releasing)
            noteStart(of: process)
            try begin(process)
            if watch.life.isStopping { watch.life.stop() }
        } catch {
            isWatched.store(false, ordering: .releasing)
            watch.stop()
            throw StartFailure(status: error.status, message: "targets: \(settings.name): \(error.message)")
        }
    }

    private func noteStart(of process: WrappedProcess) {
        watch.life.started(process)
        if let obstacle = run.obstacle { watch.attach(to: process.pid, because: obstacle) }
    }

    private func begin(_ process: WrappedProcess) throws(StartFailure) {
        do throws(WorkloadTrouble) {
            try WorkerThread.start { [self] in stay(with: process) }
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "no thread: \(error)")
        }
    }

    /// The thread's body: until the command has ended for good.
    private func stay(with first: WrappedProcess) {
        var next = follow(first)
        while true {
            switch next {
            case .leave(let end): return leave(end)
            case .again(let delay):
                guard sleep(delay) else { return leave(watch.life.status.lastEnd ?? .exited(0)) }
                do throws(StartFailure) {
                    let process = try run.start(ownSession: true)
                    noteStart(of: process)
                    // Who asked for an end just before found no process.
                    if watch.life.isStopping { watch.life.stop() }
                    next = follow(process)
                } catch {
                    next = watch.life.failedToStart(error)
                }
            }
        }
    }

    private func follow(_ process: WrappedProcess) -> CommandLife.Next {
        while true {
            if let end = process.ended() { return watch.life.ended(end) }
            var entry = pollfd(fd: process.pidfd, events: Int16(POLLIN), revents: 0)
            _ = poll(&entry, 1, -1)
        }
    }

    /// - Returns: false when it is to end meanwhile.
    private func sleep(_ time: Duration) -> Bool {
        let deadline = MonotonicTime.now + time
        while MonotonicTime.now < deadline {
            if watch.life.isStopping { return false }
            usleep(50_000)
        }
        return !watch.life.isStopping
    }

    private func leave(_ end: WrappedProcess.End) {
        let isOwnEnd = !watch.life.isStopping
        hasEnded.store(true, ordering: .releasing)
        guard isOwnEnd else { return }
        if watch.life.status.phase != .givenUp { watch.life.say("the command \(end)") }
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
        do throws(WorkloadTrouble) {
            try watch.change(isSame ? nil : configuration, settings.policy)
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "no thread: \(error)")
        }
        return true
    }

    func stop() {
        watch.life.stop()
        // It has ended; whoever waits for it is about to notice.
        let deadline = MonotonicTime.now + .seconds(10)
        while hasStarted.load(ordering: .acquiring), !hasEnded.load(ordering: .acquiring), MonotonicTime.now < deadline {
            usleep(2000)
        }
        isWatched.store(false, ordering: .releasing)
        watch.stop()
    }
}
