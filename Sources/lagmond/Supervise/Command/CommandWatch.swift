internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// Watches one command's loops: its lines, its counts, and the action when a loop hangs.
///
/// Any thread.
final class CommandWatch: Sendable {
    let lifecycle: CommandLifecycle
    private let name: String?
    private let tableWatch: SharedLoopTableWatch
    private let lines: LineDispatcher
    private let hangs = Mutex<HangWatch?>(nil)
    private let launcher: CommandLauncher
    private let requiresWatch: Bool
    private let outside: ExternalWatch
    private let reporter: WatchReporter
    private let reports: StallReports

    /// - Parameters:
    ///   - name: the target's name; nil: there is only this command.
    ///   - configuration: ``StallMonitor/StallMonitorConfiguration``, adapted to a command.
    ///   - live: counts the lines for the HTTP service; nil: no service.
    ///   - requiresWatch: whether a command that cannot be watched must not run.
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
        self.launcher = launcher
        self.requiresWatch = requiresWatch
        let tableWatch = SharedLoopTableWatch(table: launcher.loopTable, configuration: configuration, sink: sink) { process in
            [lines.sink(of: process)]
        } reportError: {
            Diagnostics.report(label + $0)
        }
        let outside = ExternalWatch(name: name, configuration: configuration, sink: sink, lines: lines)
        self.tableWatch = tableWatch
        self.outside = outside
        let reports = StallReports { time in
            // This waits for a watch that is just ending; its stall has its `abandoned` line then.
            tableWatch.reportStalls(begunBefore: time)
            outside.reportStalls(begunBefore: time)
        }
        self.reports = reports
        lifecycle = CommandLifecycle(label: label, policy: policy) { reports.request(endingAt: .now) }
        reporter = WatchReporter(
            lifecycle: lifecycle,
            outside: outside,
            surroundings: .init(obstacle: launcher.libraryObstacle, table: launcher.loopTable.variable) {
                tableWatch.isMapped(in: $0)
            } watched: {
                tableWatch.watchedProcesses + outside.watchedProcesses
            } publishes: {
                tableWatch.table.hasClaim(of: $0)
            } refusals: {
                tableWatch.table.refusals
            } unselected: {
                tableWatch.unselectedLoops
            }
        )
    }

    func start() throws(StartFailure) {
        do {
            try tableWatch.start()
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "the monitor cannot start: \(error)")
        }
        try watchForHangs()
        do throws(StartFailure) {
            try reporter.start()
        } catch {
            lifecycle.say("cannot report what is watched: \(error.message)")
        }
    }

    /// Starts the command, and attaches to it if the preloaded library cannot be loaded into it.
    /// - Throws: ``StartFailure``, also if it must be watched but cannot be; then it no longer runs.
    func startCommand(ownSession: Bool) throws(StartFailure) -> WrappedProcess {
        if requiresWatch, let obstacle = launcher.obstacle, let fault = ProcFolder.fault {
            throw Self.notWatched("\(obstacle); nor from outside: \(fault)")
        }
        // Ends the watches of the command's previous run.
        outside.stop()
        if requiresWatch, launcher.isGo { throw Self.notWatched("it is \(GoProgram.notice)") }
        let process = try launcher.start(ownSession: ownSession)
        lifecycle.started(process)
        if let obstacle = launcher.obstacle { try watchFromOutside(process, obstacle) }
        // A stop just before this found no process.
        if lifecycle.isStopping { lifecycle.stop() }
        return process
    }

    private func watchFromOutside(_ process: WrappedProcess, _ obstacle: String) throws(StartFailure) {
        // By its file name, because the kernel names the process only a moment after its start.
        guard outside.selection.includes(processName: launcher.programName) else { return }
        let text: String
        if launcher.isOfOtherArchitecture {
            text = obstacle
        } else if case .failed(let failure) = outside.watch(process.pid) {
            text = "\(obstacle); nor from outside: \(failure)"
        } else {
            return lifecycle.say("watched from outside: \(obstacle)")
        }
        guard requiresWatch else { return lifecycle.say("not watched: \(text)") }
        process.send(SIGKILL)
        while process.ended() == nil { usleep(Self.pollMicroseconds) }
        process.closeDescriptor()
        throw Self.notWatched(text)
    }

    /// Supervises the command over its restarts until it has ended for good.
    /// - Parameters:
    ///   - first: the process that was started.
    ///   - waitForEnd: returns when that process has ended.
    ///   - pause: waits before a restart; returns how to end at once instead, or nil.
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
                tableWatch.checkProcesses()
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
            message: "--require-watch: the command does not run because it cannot be watched: \(why)"
        )
    }

    /// The processes that keep running after the command ended by itself. (If it was asked to end, the rest is about to end as
    /// well.)
    var remainingProcesses: RemainingProcesses? {
        guard !lifecycle.isAskedToEnd, let start = ProcessTree.startTicks(of: getpid()) else { return nil }
        let table = launcher.loopTable.variable
        return RemainingProcesses(since: start) { [tableWatch] process in
            tableWatch.isMapped(in: process) == true || LibraryAbsence.isStarted(process, with: table)
        }
    }

    /// Stalls in progress become `abandoned` lines.
    func stop() {
        reporter.stop()
        outside.end()
        hangs.withLock { $0.take() }?.stop()
        tableWatch.stop()
    }

    /// - Parameter configuration: nil: unchanged; watches in progress continue.
    func change(_ configuration: RemoteConfiguration?, _ policy: CommandPolicy) throws(StartFailure) {
        if let configuration {
            outside.configure(configuration)
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
                let watch = HangWatch(lifecycle: lifecycle, lines: lines) { [tableWatch] in
                    tableWatch.isMapped(in: $0)
                } processes: { [tableWatch, outside] in
                    tableWatch.watchedAndProvisionalProcesses + outside.watchedProcesses
                }
                try watch.start()
                hangs = watch
            }
        }
    }

    /// Requests a `begin` line for each stall that was in progress when a signal arrived that ends the command. Returns at once,
    /// so that no signal is delayed.
    func reportStalls(endingAt time: MonotonicTime) { reports.request(endingAt: time) }

    /// The counts so far; final after ``stop()``.
    var statistics: StallMonitorStatistics {
        var sum = outside.statistics
        sum += tableWatch.totalStatistics
        return sum
    }

    /// Whether the table had no free slot for some loops.
    var lacksSlots: Bool { tableWatch.table.refusals > 0 }

    /// The number of loops whose watch has begun so far.
    var begunLoops: UInt64 { tableWatch.begunLoops + outside.begunLoops }

    /// Sends a probe to all threads that detection needs; the result reports whether they have answered.
    func probeLiveness() -> LivenessProbe.Check {
        LivenessProbe.Check([tableWatch.probeLiveness()] + outside.probeLiveness())
    }

    /// Whether this watch covers a process: selected, and below the command or, if it has left the command's tree, with its
    /// table. Reads some files of `/proc`. Any thread.
    func covers(_ process: Int32) -> Bool {
        guard process != getpid(), outside.selection.includes(process: process) else { return false }
        return ProcessTree.contains(process, below: lifecycle.status.pid) || tableWatch.isMapped(in: process) == true
    }

    /// The processes that are watched now, with their loops.
    private var processes: [WatchedProcess] {
        tableWatch.watchedProcesses + outside.watchedProcesses
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
            fault: lifecycle.phase == .givenUp ? "the command was restarted too often and given up" : nil,
            processes: processes.map(TargetStatus.Process.init),
            unwatched: reporter.unwatched,
            withoutLoop: reporter.withoutLoop,
            lacksSlots: lacksSlots
        )
    }
}

extension CommandWatch: HttpStatusSource {
    var targets: [TargetStatus] { [status] }
}
