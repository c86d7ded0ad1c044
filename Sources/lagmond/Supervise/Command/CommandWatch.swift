internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// The watch of one command's loops, with all that hangs on it: lines, counts, and what is done when one hangs.
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
    /// The command itself, where the library that tells of its loops cannot be loaded into it.
    private let attached = Mutex<AttachedProcess?>(nil)
    private let pastAttached = Mutex(StallMonitorStatistics())

    /// - Parameters:
    ///   - name: of the target; nil: there is only this command.
    ///   - configuration: as ``StallMonitor/StallMonitorConfiguration`` has it for a command.
    ///   - live: whom the lines are counted by and handed to; nil: nobody.
    init(
        name: String?,
        launcher: CommandLauncher,
        configuration: RemoteConfiguration,
        policy: CommandPolicy,
        sink: any RecordSink,
        live: LiveLines?
    ) {
        let label = name.map { "\($0): " } ?? ""
        let lines = LineDispatcher(live: live, target: name)
        self.name = name
        self.lines = lines
        self.sink = sink
        self.launcher = launcher
        self.configuration = Mutex(configuration)
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
    func startCommand(ownSession: Bool) throws(StartFailure) -> WrappedProcess {
        let process = try launcher.start(ownSession: ownSession)
        lifecycle.started(process)
        if let obstacle = launcher.obstacle { attach(to: process.pid, because: obstacle) }
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

    private func attach(to process: Int32, because obstacle: String) {
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
        } catch {
            // It has ended meanwhile: nothing was missed.
            guard error.status != ExitStatus.noInput else { return }
            lifecycle.say("not watched: \(obstacle); nor from outside: \(error.message)")
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

    /// Asks all threads that a stall needs to be noticed; whether they all answer in time is to be asked afterwards.
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
