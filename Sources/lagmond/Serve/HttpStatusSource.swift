internal import LagMonitor
internal import LagRemote

/// The status behind the pages: what is watched, and whether the watch works.
protocol HttpStatusSource: Sendable {
    /// Probes the threads that detection needs: if all answer, a stall would be detected now.
    func probeLiveness() -> LivenessProbe.Check
    var statistics: StallMonitorStatistics { get }
    /// How long each loop that is watched now has been busy with its current activity.
    var lags: [StallCounts.LoopKey: UInt64] { get }
    /// Commands; empty where the monitor watches its own process.
    var targets: [TargetStatus] { get }
}

/// A command, as the pages show it.
struct TargetStatus: Sendable {
    struct Process: Sendable {
        let pid: Int32
        let name: String
        /// The loops by name, with the duration of each loop's current callback.
        let loops: [(name: String, lagNanoseconds: UInt64)]
    }

    /// nil: the only command, which needs no name.
    var name: String?
    /// `running`, `waiting`, …
    var phase: String
    /// Whether lagmond starts it; otherwise it already runs, or is waited for.
    var isCommand = true
    /// 0: not running.
    var pid: Int32 = 0
    var restarts: UInt64 = 0
    var signals: UInt64 = 0
    /// Why it will not be watched, or will not run again; nil: no fault.
    var fault: String?
    var processes: [Process] = []
    /// Its processes that cannot be watched.
    var unwatched: [WatchReporter.Unwatched] = []
    /// Its processes that could be watched but had no event loop at the last check, some seconds ago.
    var withoutLoop: [WatchReporter.Unwatched] = []
    /// Whether the shared table had no free slot for some loops.
    var lacksSlots = false

    /// Its processes without an event loop so far.
    var silent: [WatchReporter.Unwatched] {
        let watched = Set(processes.lazy.filter { !$0.loops.isEmpty }.map(\.pid))
        return withoutLoop.filter { !watched.contains($0.pid) }
    }

    var loops: Int { processes.reduce(0) { $0 + $1.loops.count } }
    var labels: [(String, String)] { name.map { [("target", $0)] } ?? [] }
}

extension TargetStatus.Process {
    init(_ process: WatchedProcess) {
        self.init(pid: process.pid, name: process.name, loops: process.eventLoops.map { ($0.name, $0.busyNanoseconds) })
    }
}

/// lagmond's own process: its monitor, and the loops that are known beforehand.
struct OwnProcessStatus: HttpStatusSource {
    let monitor: StallMonitor
    let loops: [any ObservableLoop]

    func probeLiveness() -> LivenessProbe.Check { LivenessProbe.Check { [monitor] in monitor.isRunning } }
    var statistics: StallMonitorStatistics { monitor.statistics }
    var targets: [TargetStatus] { [] }

    var lags: [StallCounts.LoopKey: UInt64] {
        let known = loops.filter(\.publishesActivity).map { (StallCounts.LoopKey(loop: $0.name), $0.lagNanoseconds) }
        return Dictionary(known, uniquingKeysWith: max)
    }
}
