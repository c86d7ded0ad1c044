internal import LagMonitor
internal import LagRemote

/// The status of the processes of `lagmond attach`.
struct AttachedProcesses: HttpStatusSource {
    let processes: [AttachedProcess]

    func probeLiveness() -> LivenessProbe.Check { LivenessProbe.Check(processes.map { $0.watch.probeLiveness() }) }

    var statistics: StallMonitorStatistics { processes.reduce(into: StallMonitorStatistics()) { $0 += $1.watch.statistics } }

    var lags: [StallCounts.LoopKey: UInt64] { processes.reduce(into: [:]) { $0.merge($1.lags, uniquingKeysWith: max) } }

    var targets: [TargetStatus] { processes.map(\.status) }
}
