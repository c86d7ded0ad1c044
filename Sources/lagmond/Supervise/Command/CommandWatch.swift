internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// The watch of one command's loops, with its lines, its counts, and the action when a loop hangs.
///
/// Any thread.
final class CommandWatch: Sendable {
    let lifecycle: CommandLifecycle
    private let name: String?
    private let tableWatch: SharedLoopTableWatch
    private let lines: LineDispatcher
    private let hangs = Mutex<HangWatch?>(nil)
    private let sink: any RecordSink
    private let launcher: CommandLauncher
    private let configuration: Mutex<RemoteConfiguration>
    private let requiresWatch: Bool
    /// The command itself, where the library that publishes its loops cannot be loaded into it.
    private let attached = Mutex<AttachedProcess?>(nil)
    private let pastAttached = Mutex(StallMonitorStatistics())

    /// - Parameters:
    ///   - name: of the target; nil: there is only this command.
    ///   - configuration: as ``StallMonitor/StallMonitorConfiguration`` has it for a command.
    ///   - live: counts the lines for the HTTP service; nil: there is no service.
    ///   - requiresWatch: a command that cannot be watched is not to run.
    init(
        name: String?,
        launcher: CommandLauncher,
        configuration: RemoteConfiguration,
        policy: CommandPolicy,
        sink: any RecordSink,
        live: LiveLines?,
        requiresWatch: Bool = false
    ) {
        let label = name.map { "\($0): " } ?? ""
        let lines = LineDispatcher(live: live, target: name)
        self.name = name
        self.lines = lines
        self.sink = sink
        self.launcher = launcher
        self.configuration = Mutex(configuration)
        self.requiresWatch = requiresWatch
        lifecycle = CommandLifecycle(label: label, policy: policy)
        self.tableWatch = SharedLoopTableWatch(table: launcher.loopTable, configuration: configuration, sink: sink) { process in
            [lines.sink(of: process)]
        } reportError: {
            Diagnostics.report(label + $0)
        }
    }

    func start() throws(StartFailure) {
        do {
            try tableWatch.start()
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "the monitor cannot start: \(error)")
        }
        try watchForHangs()
    }

    /// Starts the command, and attaches to it where the preloaded library cannot be in it.
    /// - Throws: ``StartFailure`` also where it has to be watched and cannot be; then it does not run any more.
    func startCommand(ownSession: Bool) throws(StartFailure) -> WrappedProcess {
        if requiresWatch, let obstacle = launcher.obstacle, access("/proc/self/stat", R_OK) != 0 {
            throw Self.notWatched("\(obstacle); nor from outside: /proc is not there")
        }
        let process = try launcher.start(ownSession: ownSession)
        lifecycle.started(process)
        if let obstacle = launcher.obstacle, let failure = attach(to: process.pid, because: obstacle) {
            let text = "\(obstacle); nor from outside: \(failure)"
            if requiresWatch {
                process.send(SIGKILL)
                while process.ended() == nil { usleep(Self.pollMicroseconds) }
                process.closeDescriptor()
                throw Self.notWatched(text)
            }
            lifecycle.say("not watched: \(text)")
        }
        // Whoever stopped it just before found no process.
        if lifecycle.isStopping { lifecycle.stop() }
        return process
    }

    /// Stays with the command, over its restarts, until it has ended for good.
    /// - Parameters:
    ///   - first: has been started.
    ///   - waitForEnd: returns when that process has ended.
    ///   - pause: waits before a restart; how it ends at once instead, or nil.
    func supervise(
        _ first: WrappedProcess,
        ownSession: Bool,
        waitForEnd: (WrappedProcess) -> WrappedProcess.Termination,
        pause: (Duration) -> WrappedProcess.Termination?
    ) -> WrappedProcess.Termination {
        var next = lifecycle.ended(waitForEnd(first))
        while true {
            switch next {
            case .finish(let end): return end
            case .restart(let delay):
                if let end = pause(delay) { return end }
                do throws(StartFailure) {
                    next = lifecycle.ended(waitForEnd(try startCommand(ownSession: ownSession)))
                } catch {
                    next = lifecycle.failedToStart(error)
                }
            }
        }
    }

    private static let pollMicroseconds: UInt32 = 1000

    private static func notWatched(_ why: String) -> StartFailure {
        StartFailure(
            status: ExitStatus.unavailable,
            message: "--require-watch: the command does not run, it cannot be watched: \(why)"
        )
    }

    /// - Returns: why it is not watched; nil: it is, or has ended.
    private func attach(to process: Int32, because obstacle: String) -> String? {
        stopAttached()
        do throws(StartFailure) {
            let made = try AttachedProcess(
                process,
                name: name,
                configuration: configuration.withLock { $0 },
                sink: sink,
                lines: lines
            )
            try made.start()
            attached.withLock { $0 = made }
            lifecycle.say("watched from outside: \(obstacle)")
            return nil
        } catch {
            // It has ended meanwhile: nothing was missed.
            return error.status == ExitStatus.noInput ? nil : error.message
        }
    }

    /// What it was stalled in when it ended becomes an `abandoned` line.
    private func stopAttached() {
        guard let process = attached.withLock({ $0.take() }) else { return }
        process.watch.stop()
        pastAttached.withLock { $0 += process.watch.statistics }
    }

    /// Stalls in progress become `abandoned` lines.
    func stop() {
        stopAttached()
        hangs.withLock { $0.take() }?.stop()
        tableWatch.stop()
    }

    /// - Parameter configuration: nil: as it is; watches in progress go on.
    func change(_ configuration: RemoteConfiguration?, _ policy: CommandPolicy) throws(StartFailure) {
        if let configuration {
            self.configuration.withLock { $0 = configuration }
            tableWatch.configure(configuration)
        }
        lifecycle.policy = policy
        try watchForHangs()
    }

    private func watchForHangs() throws(StartFailure) {
        let isWanted = lifecycle.policy.onHang != .report
        try hangs.withLock { hangs throws(StartFailure) in
            if !isWanted {
                hangs?.stop()
                hangs = nil
            } else if hangs == nil {
                let watch = HangWatch(lifecycle: lifecycle, lines: lines) { [weak self] in self?.processes ?? [] }
                try watch.start()
                hangs = watch
            }
        }
    }

    /// The counts so far; final after ``stop()``.
    var statistics: StallMonitorStatistics {
        var sum = pastAttached.withLock { $0 }
        if let process = attached.withLock({ $0 }) { sum += process.watch.statistics }
        sum += tableWatch.totalStatistics
        return sum
    }

    /// Sends a probe to all threads that detection needs; the result says whether they have answered.
    func probeLiveness() -> LivenessProbe.Check {
        let calls = [tableWatch.probeLiveness()] + [attached.withLock { $0 }?.watch.probeLiveness()].compactMap { $0 }
        return { calls.allSatisfy { $0() } }
    }

    /// Those that are watched now, with their loops.
    private var processes: [WatchedProcess] {
        tableWatch.watchedProcesses + (attached.withLock { $0 }?.watchedProcesses ?? [])
    }

    var lags: [StallCounts.LoopKey: UInt64] { lines.lags(of: processes) }

    var status: TargetStatus {
        let lifecycle = lifecycle.status
        return TargetStatus(
            name: name,
            phase: lifecycle.phase.rawValue,
            pid: lifecycle.pid,
            restarts: lifecycle.restarts,
            signals: lifecycle.signals,
            fault: lifecycle.phase == .givenUp ? "the command was started again too often, and given up" : nil,
            processes: processes.map(TargetStatus.Process.init)
        )
    }
}

extension CommandWatch: HttpStatusSource {
    func isWatching() async -> Bool { await ProbeAnswers.allArrive([probeLiveness()]) }
    var targets: [TargetStatus] { [status] }
}
