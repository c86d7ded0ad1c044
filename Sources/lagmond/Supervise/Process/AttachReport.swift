internal import LagMonitor
internal import LagRemote

/// Reports on stderr which loops of already running processes are watched, and which processes serve their clients in other
/// threads, as for a command.
///
/// Used by one thread. The watch itself reports if no loop is found.
struct AttachReport {
    private var report = WatchReport()
    private var next = MonotonicTime.now
    private var threadServers = ThreadServerHints()
    private var threadServersDue = MonotonicTime.now + WatchReport.patience

    /// Call it repeatedly; only two calls per second have an effect.
    /// - Parameter label: the prefix of each line.
    mutating func update(_ watched: [WatchedProcess], label: String = "") {
        let now = MonotonicTime.now
        guard now >= next else { return }
        next = now + WatchReport.interval
        let command = WatchReport.Command(pid: watched.first?.pid ?? 0, name: "", isUndecided: true)
        var messages = report.update(watched.map(WatchReport.Process.init), of: command, at: now)
        if now >= threadServersDue {
            threadServersDue = now + WatchReport.patience
            messages += threadServers.update(watched)
        }
        for message in messages { Diagnostics.report(label + message) }
    }
}

extension WatchReport.Process {
    init(_ process: WatchedProcess) {
        self.init(
            id: ProcessID(pid: process.pid, startTicks: process.startTicks),
            name: process.name,
            loops: process.eventLoops.map(\.name)
        )
    }
}
