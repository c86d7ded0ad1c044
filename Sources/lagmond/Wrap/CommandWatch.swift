internal import LagMonitor
internal import LagRemote
internal import LagWorkload
internal import Synchronization

/// The watch of one command's loops, with all that hangs on it: lines, counts, and what is done when one hangs.
///
/// Any thread.
final class CommandWatch: Sendable {
    let life: CommandLife
    private let name: String?
    private let page: PageWatch
    private let lines: LineLog
    private let hangs = Mutex<HangWatch?>(nil)
    private let sink: any RecordSink
    private let configuration: Mutex<ForeignConfiguration>
    /// The command itself, where the library that tells of its loops cannot be loaded into it.
    private let attached = Mutex<AttachedProcess?>(nil)
    private let pastAttached = Mutex(LagMonitorStatistics())

    /// - Parameters:
    ///   - name: of the target; nil: there is only this command.
    ///   - configuration: as ``LagMonitor/LagMonitorConfiguration`` has it for a command.
    ///   - live: whom the lines are counted by and handed to; nil: nobody.
    init(
        name: String?,
        page: SharedPage,
        configuration: ForeignConfiguration,
        policy: CommandPolicy,
        sink: any RecordSink,
        live: LiveLines?
    ) {
        let label = name.map { "\($0): " } ?? ""
        let lines = LineLog(live: live, target: name)
        self.name = name
        self.lines = lines
        self.sink = sink
        self.configuration = Mutex(configuration)
        life = CommandLife(label: label, policy: policy)
        self.page = PageWatch(page: page, configuration: configuration, sink: sink) { process in
            [lines.sink(of: process)]
        } complain: {
            Diagnostics.say(label + $0)
        }
    }

    func start() throws(StartFailure) {
        do {
            try page.start()
            try watchForHangs()
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "the monitor cannot start: \(error)")
        }
    }

    /// Has the kernel tell of a command that cannot be told of otherwise. It has just started.
    func attach(to process: Int32, because obstacle: String) {
        leaveAttached()
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
            life.say("watched from outside: \(obstacle)")
        } catch {
            // It has ended meanwhile: nothing was missed.
            guard error.status != ExitStatus.noInput else { return }
            life.say("not watched: \(obstacle); nor from outside: \(error.message)")
        }
    }

    /// What it was stalled in when it ended becomes an `abandoned` line.
    private func leaveAttached() {
        guard let process = attached.withLock({ $0.take() }) else { return }
        process.watch.stop()
        pastAttached.withLock { $0 += process.watch.statistics }
    }

    /// Stalls in progress become `abandoned` lines.
    func stop() {
        leaveAttached()
        hangs.withLock { $0.take() }?.stop()
        page.stop()
    }

    /// - Parameter configuration: nil: as it is; watches in progress go on.
    func change(_ configuration: ForeignConfiguration?, _ policy: CommandPolicy) throws(WorkloadTrouble) {
        if let configuration {
            self.configuration.withLock { $0 = configuration }
            page.configure(configuration)
        }
        life.policy = policy
        try watchForHangs()
    }

    private func watchForHangs() throws(WorkloadTrouble) {
        let isWanted = life.policy.onHang != .report
        try hangs.withLock { hangs throws(WorkloadTrouble) in
            if !isWanted {
                hangs?.stop()
                hangs = nil
            } else if hangs == nil {
                let watch = HangWatch(life: life, lines: lines) { [weak self] in self?.processes ?? [] }
                try watch.start()
                hangs = watch
            }
        }
    }

    /// The counts so far; final after ``stop()``.
    var statistics: LagMonitorStatistics {
        var sum = pastAttached.withLock { $0 }
        if let process = attached.withLock({ $0 }) { sum += process.watch.statistics }
        sum += page.statisticsSoFar
        return sum
    }

    /// Asks all threads that a stall needs to be noticed; whether they all answer in time is to be asked afterwards.
    func callRoll() -> RollCall.Call {
        let calls = [page.callRoll()] + [attached.withLock { $0 }?.watch.callRoll()].compactMap { $0 }
        return { calls.allSatisfy { $0() } }
    }

    /// Whether a stall would be noticed now.
    func isWatching() async -> Bool { await Answers.arrive([callRoll()]) }

    /// Those that are watched now, with their loops.
    private var processes: [WatchedProcess] {
        page.processesNow + [attached.withLock { $0 }?.watch.processNow].compactMap { $0 }
    }

    var lags: [StallCounts.Place: UInt64] {
        let loops = processes.flatMap { process in
            process.loops.map { (lines.place(process: process.name, loop: $0.name), $0.lagNanoseconds) }
        }
        return Dictionary(loops, uniquingKeysWith: max)
    }

    var status: TargetStatus {
        let life = life.status
        return TargetStatus(
            name: name,
            phase: life.phase.rawValue,
            pid: life.pid,
            restarts: life.restarts,
            signals: life.signals,
            fault: life.phase == .givenUp ? "the command was started again too often, and given up" : nil,
            processes: processes.map(TargetStatus.Process.init)
        )
    }
}
