internal import CLagLinux
internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// Does what the policy asks for when a loop of the command hangs. A thread of its own, which is there only where something is asked for.
///
/// Any process of the command counts, and any loop of it that is watched: the signal goes to the process that hangs, a restart concerns
/// the whole command. Nothing is done before the hang's line was written, or had two seconds to be.
// Unchecked: `meters` is the thread's own; the rest is immutable or atomic.
final class HangWatch: @unchecked Sendable {
    private struct Key: Hashable {
        let pid: Int32
        let startTicks: UInt64
        let loop: ObjectIdentifier
    }

    private let processes: @Sendable () -> [WatchedProcess]
    private let lifecycle: CommandLifecycle
    private let lines: LineDispatcher
    private let isOver = Atomic(false)
    private var meters: [Key: HangMeter] = [:]

    private static let lineWait: Duration = .seconds(2)

    /// - Parameter processes: those that are watched now. Any thread.
    init(lifecycle: CommandLifecycle, lines: LineDispatcher, processes: @escaping @Sendable () -> [WatchedProcess]) {
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

    /// A tenth of the time that a hang has to last: more looks find it no better.
    private static func interval(_ policy: CommandPolicy) -> Duration {
        min(max(policy.onHangAfter / 10, .milliseconds(50)), .seconds(1))
    }

    private func checkLoops(_ policy: CommandPolicy, _ interval: Duration) {
        var present: Set<Key> = []
        for process in processes() {
            for loop in process.loops {
                let key = Key(pid: process.pid, startTicks: process.startTicks, loop: ObjectIdentifier(loop))
                present.insert(key)
                var meter = meters[key] ?? HangMeter(longestGap: interval * 2)
                meter.add(.init(of: loop, in: process))
                if meter.hung >= policy.onHangAfter, !meter.isHandled {
                    let hasLine = lines.hasBegun(process: process.pid, thread: loop.thread.tid)
                    if hasLine || meter.hung >= policy.onHangAfter + Self.lineWait {
                        meter.isHandled = true
                        act(policy.onHang, process, loop, meter.hung)
                    }
                }
                meters[key] = meter
            }
        }
        meters = meters.filter { present.contains($0.key) }
    }

    private func act(_ action: CommandPolicy.OnHang, _ process: WatchedProcess, _ loop: any ObservableLoop, _ hung: Duration) {
        let what = "\(process.name) (\(process.pid)) has been hanging in \(loop.name) for \(hung.shown)"
        switch action {
        case .report: break
        case .restart: _ = lifecycle.restart(because: what)
        case .signal(let signal):
            let pidfd = cll_pidfd_open(process.pid)
            guard pidfd >= 0 else { return }
            defer { close(pidfd) }
            var ticks: UInt64 = 0
            guard cll_procfs_start_ticks(process.pid, &ticks) == 0, ticks == process.startTicks else { return }
            if cll_pidfd_kill(pidfd, signal.number) == 0 {
                lifecycle.recordSignal()
                lifecycle.say("\(what): sent it \(signal)")
            } else {
                lifecycle.say("\(what): could not send it \(signal): \(Diagnostics.reason(errno))")
            }
        }
    }
}

extension HangMeter.Reading {
    /// Some 30 µs: two files of `/proc`.
    init(of loop: any ObservableLoop, in process: WatchedProcess) {
        sequence = loop.beacon.sequence
        isWorking = loop.beacon.activity.isWorking
        time = .now
        lag = .nanoseconds(Int64(clamping: loop.lagNanoseconds))
        let thread = loop.thread.tid
        isStoppedOrTraced = isWorking && Self.isStoppedOrTraced(process.pid, thread)
        waitedForProcessor = isWorking ? Self.waited(process.pid, thread) : .zero
    }

    /// Stopped, or traced by anybody but us.
    private static func isStoppedOrTraced(_ process: pid_t, _ thread: pid_t) -> Bool {
        let text = text(process, thread, "status")
        // Gone: what it hung in is over.
        guard !text.isEmpty else { return true }
        for line in text.split(separator: "\n").prefix(12) {
            let words = line.split(separator: "\t")
            guard words.count > 1 else { continue }
            if words[0] == "State:", "Tt".contains(words[1].first ?? " ") { return true }
            // We look at stacks by tracing; for some microseconds.
            if words[0] == "TracerPid:", let tracer = pid_t(words[1]), tracer != 0, !isOwn(tracer) { return true }
        }
        return false
    }

    private static func isOwn(_ thread: pid_t) -> Bool { access("/proc/self/task/\(thread)", F_OK) == 0 }

    /// The second number of `schedstat`, in nanoseconds.
    private static func waited(_ process: pid_t, _ thread: pid_t) -> Duration {
        let numbers = text(process, thread, "schedstat").split(separator: " ")
        return numbers.count > 1 ? .nanoseconds(Int64(numbers[1]) ?? 0) : .zero
    }

    private static func text(_ process: pid_t, _ thread: pid_t, _ name: String) -> String {
        var buffer = [CChar](repeating: 0, count: 2048)
        guard cll_procfs_read(process, thread, name, &buffer, buffer.count) > 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
