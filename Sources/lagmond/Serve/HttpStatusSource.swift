internal import LagMonitor
internal import LagRemote

/// The status behind the pages: what is watched, and whether the watch works.
protocol HttpStatusSource: Sendable {
    /// Whether a stall would be detected now. Probes the threads that detection needs, and waits a moment for their answers.
    func isWatching() async -> Bool
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
        /// By name, with how long each has been at what it does now.
        let loops: [(name: String, lagNanoseconds: UInt64)]
    }

    /// nil: there is one command, which needs no name.
    var name: String?
    /// `running`, `waiting`, …
    var phase: String
    /// lagmond starts it; otherwise it runs already, or is waited for.
    var isCommand = true
    /// 0: it does not run.
    var pid: Int32 = 0
    var restarts: UInt64 = 0
    var signals: UInt64 = 0
    /// Why it will not be watched, or not run any more; nil: all is well.
    var fault: String?
    var processes: [Process] = []
    /// Those of its processes that cannot be watched.
    var unwatched: [WatchReporter.Unwatched] = []
    /// Those that could be watched, and had no event loop when that was looked for, some seconds ago.
    var withoutLoop: [WatchReporter.Unwatched] = []
    /// Whether loops have found no slot in the shared table.
    var lacksSlots = false

    /// Those that have no event loop so far.
    var silent: [WatchReporter.Unwatched] {
        let watched = Set(processes.lazy.filter { !$0.loops.isEmpty }.map(\.pid))
        return withoutLoop.filter { !watched.contains($0.pid) }
    }

    var loops: Int { processes.reduce(0) { $0 + $1.loops.count } }
    var labels: [(String, String)] { name.map { [("target", $0)] } ?? [] }
}

extension TargetStatus.Process {
    init(_ process: WatchedProcess) {
        self.init(pid: process.pid, name: process.name, loops: process.loops.map { ($0.name, $0.busyNanoseconds) })
    }
}

/// The own process: its monitor, and loops that are known beforehand.
struct OwnProcessStatus: HttpStatusSource {
    let monitor: StallMonitor
    let loops: [any ObservableLoop]

    func isWatching() async -> Bool { monitor.isRunning }
    var statistics: StallMonitorStatistics { monitor.statistics }
    var targets: [TargetStatus] { [] }

    var lags: [StallCounts.LoopKey: UInt64] {
        let known = loops.filter(\.publishesActivity).map { (StallCounts.LoopKey(loop: $0.name), $0.lagNanoseconds) }
        return Dictionary(known, uniquingKeysWith: max)
    }
}
