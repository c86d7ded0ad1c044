internal import LagRemote
internal import LagMonitor

/// What the pages show of processes that were attached to.
struct AttachedProcesses: HttpSubject {
    let processes: [AttachedProcess]

    func isWatching() async -> Bool {
        await Answers.arrive(processes.map { $0.watch.callRoll() })
    }

    var statistics: LagMonitorStatistics { processes.reduce(into: LagMonitorStatistics()) { $0 += $1.watch.statistics } }

    var lags: [StallCounts.Place: UInt64] { processes.reduce(into: [:]) { $0.merge($1.lags, uniquingKeysWith: max) } }

    var targets: [TargetStatus] { processes.map(\.status) }
}
