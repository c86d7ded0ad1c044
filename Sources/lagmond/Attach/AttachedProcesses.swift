internal import LagMonitor

/// What the pages show of processes that were attached to.
struct AttachedProcesses: HttpSubject {
    let processes: [AttachedProcess]

    /// For the answers of the threads that watch.
    private static let answerWait: Duration = .seconds(1)

    func isWatching() async -> Bool {
        var calls = processes.map { ($0.watch, $0.watch.callRoll()) }
        let deadline = MonotonicTime.now + Self.answerWait
        while true {
            calls.removeAll { $0.0.hasAnswered($0.1) }
            if calls.isEmpty { return true }
            guard MonotonicTime.now < deadline else { return false }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    var statistics: LagMonitorStatistics { processes.reduce(into: LagMonitorStatistics()) { $0 += $1.watch.statistics } }

    var lags: [StallCounts.Place: UInt64] { processes.reduce(into: [:]) { $0.merge($1.lags, uniquingKeysWith: max) } }

    var targets: [TargetStatus] { processes.map(\.status) }
}
