internal import CLagLinux
internal import CLagRemote
internal import Glibc
internal import LagModel
internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// Takes the policy's action when a loop of the command provably hangs (``HangMeter``). Runs a thread, only if the policy has an
/// action.
///
/// It covers every watched loop of every process of the command: a signal goes to the hanging process, a restart affects the
/// whole command. No action is taken before the hang's line was written or suppressed, or two seconds have passed.
// Unchecked: only the thread uses `meters` and the data on users; the rest is immutable or atomic.
final class HangWatch: @unchecked Sendable {
    private struct Key: Hashable {
        let pid: Int32
        let startTicks: UInt64
        let loop: ObjectIdentifier
    }

    private let processes: @Sendable () -> [WatchedProcess]
    private let isMapped: @Sendable (Int32) -> Bool?
    private let lifecycle: CommandLifecycle
    private let lines: LineDispatcher
    private let isOver = Atomic(false)
    private var meters: [Key: HangMeter] = [:]
    private var users = TableUsers()
    private var refusalLinesLeft = 8

    private static let lineWait: Duration = .seconds(2)

    /// - Parameters:
    ///   - isMapped: whether a process has the shared loop table. Any thread.
    ///   - processes: the processes that are watched now, and their provisional loops: a hang soon after a start counts from its
    ///     beginning. Any thread.
    init(
        lifecycle: CommandLifecycle,
        lines: LineDispatcher,
        isMapped: @escaping @Sendable (Int32) -> Bool?,
        processes: @escaping @Sendable () -> [WatchedProcess]
    ) {
        self.isMapped = isMapped
        self.processes = processes
        self.lifecycle = lifecycle
        self.lines = lines
    }

    func start() throws(StartFailure) {
        try HelperThread.start("hang-watch") { [self] in
            while !isOver.load(ordering: .acquiring) {
                let policy = lifecycle.policy
                let interval = Self.interval(policy)
                if policy.onHang == .report { meters = [:] } else { checkLoops(policy, interval) }
                usleep(UInt32(clamping: interval.wholeNanoseconds / 1000))
            }
        }
    }

    func stop() { isOver.store(true, ordering: .releasing) }

    /// A tenth of the required duration of a hang: more polls would not find it sooner. The duration counts from the first poll
    /// that finds pending work, so the action can be up to two intervals late.
    private static func interval(_ policy: CommandPolicy) -> Duration {
        min(max(policy.onHangAfter / 10, .milliseconds(50)), .milliseconds(400))
    }

    private func checkLoops(_ policy: CommandPolicy, _ interval: Duration) {
        var present: Set<Key> = []
        for process in processes() {
            for loop in process.loops {
                let key = Key(pid: process.pid, startTicks: process.startTicks, loop: ObjectIdentifier(loop))
                present.insert(key)
                var meter = meters[key] ?? HangMeter(longestGap: interval * 2)
                meter.add(.init(of: loop, in: process, isSuspect: meter.hung > .zero))
                if meter.isDue(after: policy.onHangAfter), loop.mayCauseAction {
                    let hasBegun = lines.hasBegun(process: process.pid, thread: loop.thread.tid)
                    if hasBegun || meter.hung >= policy.onHangAfter + Self.lineWait {
                        meter.isHandled = true
                        act(policy.onHang, process, loop, meter)
                    }
                }
                meters[key] = meter
                if loop is RemoteLoop, meter.hung > .zero { users.lookIfDue(below: lifecycle.status.pid) }
            }
        }
        meters = meters.filter { present.contains($0.key) }
    }

    private func act(_ action: CommandPolicy.OnHang, _ process: WatchedProcess, _ loop: any ForeignLoop, _ meter: HangMeter) {
        let what = "\(process.name) (\(process.pid)) has been hanging in \(loop.name) for \(meter.hung.shown)"
        // Samples from outside and evidence from the kernel are not claims of a process.
        if action != .report, loop is RemoteLoop, !meter.isWitnessed, let stranger = stranger(to: process.pid, action) {
            return refuse(
                "\(what), apparently; no action taken: process \(stranger.pid) of uid \(stranger.users.min() ?? 0), which "
                    + "may not signal it, could have written the evidence"
            )
        }
        switch action {
        case .report: break
        case .restart: restart(process, because: what, began: meter.began)
        case .signal(let signal):
            let pidfd = clr_pidfd_open(process.pid)
            guard pidfd >= 0 else {
                return lifecycle.say(
                    "\(what): could not send it \(signal): no descriptor of the process: \(Diagnostics.reason(errno))"
                )
            }
            defer { close(pidfd) }
            var ticks: UInt64 = 0
            guard cll_procfs_start_ticks(process.pid, &ticks) == 0, ticks == process.startTicks else { return }
            if clr_pidfd_kill(pidfd, signal.number) == 0 {
                lifecycle.recordSignal()
                lifecycle.say("\(what): sent it \(signal)")
            } else {
                lifecycle.say("\(what): could not send it \(signal): \(Diagnostics.reason(errno))")
            }
        }
    }

    /// A process that has left the command, as a daemon does, would keep hanging after a restart.
    private func restart(_ process: WatchedProcess, because what: String, began: MonotonicTime) {
        let root = lifecycle.status.pid
        if root <= 0 {
            refuse("\(what); no action taken: the command has exited or is restarting")
        } else if ProcessTree.contains(process.pid, below: root) {
            _ = lifecycle.restart(because: what, began: began)
        } else {
            refuse("\(what); no action taken: it has left the command, so a restart would not stop it")
        }
    }

    private func refuse(_ message: String) {
        guard refusalLinesLeft > 0 else { return }
        refusalLinesLeft -= 1
        lifecycle.say(message)
    }

    private func stranger(to process: Int32, _ action: CommandPolicy.OnHang) -> TableUsers.Member? {
        let root = lifecycle.status.pid
        users.look(below: root)
        let targets = action == .restart && root > 0 ? [process, root] : [process]
        return users.stranger(to: targets.map(TableUsers.owners)) { [isMapped] in isMapped($0) == true }
    }
}

extension HangMeter.Reading {
    /// Takes some 40 µs for a busy loop: some files of `/proc`, and the pending events. A quarter of that for a loop without
    /// proof, such as an idle thread of a pool.
    /// - Parameter isSuspect: whether it may already hang.
    init(of loop: any ForeignLoop, in process: WatchedProcess, isSuspect: Bool) {
        sequence = loop.beacon.sequence
        isWorking = loop.beacon.activity.isWorking
        time = .now
        let thread = loop.thread.tid
        let proof = isWorking ? loop.proof(at: time.nanoseconds) : LoopProof(isLoop: false, isWorkPending: false)
        (isLoop, isWorkPending, provedSleeps) = (proof?.isLoop, proof?.isWorkPending, proof?.sleeps)
        let mayHang = isWorking && (isLoop == true || isSuspect)
        stopsBefore = clr_stops(thread)
        let status: (isHeld: Bool, isRunnable: Bool, isAlone: Bool, sleeps: UInt64?) =
            mayHang ? Self.status(in: Self.text(process.pid, thread, "status")) : (false, false, false, nil)
        stopsAfter = clr_stops(thread)
        (isStoppedOrTraced, isRunnable, sleeps) = (status.isHeld, status.isRunnable, status.sleeps)
        isWitnessed = proof?.isWitnessed == true && status.isAlone
        (computed, waitedForProcessor) = mayHang ? Self.times(process.pid, thread) : (.zero, .zero)
    }

    /// Whether it is stopped, traced by another process, or dumping core; whether it runs or waits for a processor; whether its
    /// process has no other thread; how often it went to sleep.
    /// - Parameter text: the text of its `status` file.
    static func status(in text: String) -> (isHeld: Bool, isRunnable: Bool, isAlone: Bool, sleeps: UInt64?) {
        // The thread is gone, so the hang is over.
        guard !text.isEmpty else { return (true, false, false, nil) }
        var (isHeld, isRunnable, isAlone, sleeps) = (false, false, false, UInt64?.none)
        for line in text.split(separator: "\n") {
            let words = line.split(separator: "\t")
            guard words.count > 1 else { continue }
            switch words[0] {
            case "State:":
                if "Tt".contains(words[1].first ?? " ") { isHeld = true }
                isRunnable = words[1].first == "R"
            // lagmond itself traces for some microseconds to read a stack.
            case "CoreDumping:": if words[1] == "1" { isHeld = true }
            case "TracerPid:": if let tracer = pid_t(words[1]), tracer != 0, !isOwn(tracer) { isHeld = true }
            case "Threads:": isAlone = words[1] == "1"
            case "voluntary_ctxt_switches:": sleeps = UInt64(words[1])
            default: break
            }
        }
        return (isHeld, isRunnable, isAlone, sleeps)
    }

    private static func isOwn(_ thread: pid_t) -> Bool { access("/proc/self/task/\(thread)", F_OK) == 0 }

    /// The first two numbers of `schedstat`, in nanoseconds: time on a processor, and time waiting for one.
    private static func times(_ process: pid_t, _ thread: pid_t) -> (Duration, Duration) {
        let numbers = text(process, thread, "schedstat").split(separator: " ").prefix(2).map { Int64($0) ?? 0 }
        return numbers.count > 1 ? (.nanoseconds(numbers[0]), .nanoseconds(numbers[1])) : (.zero, .zero)
    }

    private static func text(_ process: pid_t, _ thread: pid_t, _ name: String) -> String {
        ProcFile.text(at: "/proc/\(process)/task/\(thread)/\(name)", limit: StatusFile.longestBytes) ?? ""
    }
}
