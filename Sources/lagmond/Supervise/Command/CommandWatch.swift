internal import LagMonitor
internal import LagRemote
internal import LagWorkload
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
        loopTable: SharedLoopTable,
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
        self.configuration = Mutex(configuration)
        lifecycle = CommandLifecycle(label: label, policy: policy)
        self.tableWatch = SharedLoopTableWatch(table: loopTable, configuration: configuration, sink: sink) { process in
            [lines.sink(of: process)]
        } reportError: {
            Diagnostics.say(label + $0)
        }
    }

    func start() throws(StartFailure) {
        do {
            try tableWatch.start()
            try watchForHangs()
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "the monitor cannot start: \(error)")
        }
    }

    /// Has the kernel tell of a command that cannot be told of otherwise. It has just started.
    func attach(to process: Int32, because obstacle: String) {
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
    func change(_ configuration: RemoteConfiguration?, _ policy: CommandPolicy) throws(WorkloadError) {
        if let configuration {
            self.configuration.withLock { $0 = configuration }
            tableWatch.configure(configuration)
        }
        lifecycle.policy = policy
        try watchForHangs()
    }

    private func watchForHangs() throws(WorkloadError) {
        let isWanted = lifecycle.policy.onHang != .report
        try hangs.withLock { hangs throws(WorkloadError) in
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

    /// Whether a stall would be noticed now.
    func isWatching() async -> Bool { await ProbeAnswers.allArrive([probeLiveness()]) }

    /// Those that are watched now, with their loops.
    private var processes: [WatchedProcess] {
        tableWatch.watchedProcesses + [attached.withLock { $0 }?.watch.watchedProcess].compactMap { $0 }
    }

    var lags: [StallCounts.LoopKey: UInt64] {
        let loops = processes.flatMap { process in
            process.loops.map { (lines.place(process: process.name, loop: $0.name), $0.lagNanoseconds) }
        }
        return Dictionary(loops, uniquingKeysWith: max)
    }

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
