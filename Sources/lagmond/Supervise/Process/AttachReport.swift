internal import LagMonitor
internal import LagRemote

/// What is reported on stderr of the watch of processes that run already: which of their loops are watched, as of a command's.
///
/// A value of one thread. That no loop is found is reported by the watch itself.
struct AttachReport {
    private var report = WatchReport()
    private var next = MonotonicTime.now

    /// To be called again and again; all calls but two a second do nothing.
    /// - Parameter label: before each line.
    mutating func update(_ watched: [WatchedProcess], label: String = "") {
        let now = MonotonicTime.now
        guard now >= next else { return }
        next = now + WatchReport.interval
        let command = WatchReport.Command(pid: watched.first?.pid ?? 0, name: "", isUndecided: true)
        for message in report.update(watched.map(WatchReport.Process.init), of: command, at: now) {
            Diagnostics.report(label + message)
        }
    }
}

extension WatchReport.Process {
    init(_ process: WatchedProcess) {
        self.init(
            id: ProcessID(pid: process.pid, startTicks: process.startTicks),
            name: process.name,
            loops: process.loops.map(\.name)
        )
    }
}
