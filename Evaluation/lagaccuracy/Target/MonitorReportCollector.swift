internal import LagMonitor
internal import Synchronization

/// Collects the monitor's reports: combines the lines of one stall into one report.
final class MonitorReportCollector: Sendable {
    private struct State {
        var order: [StallID] = []
        var monitorReports: [StallID: TargetReport.MonitorReport] = [:]
        var ended: Set<StallID> = []
    }

    private let state = Mutex(State())

    func take(_ record: StallRecord) {
        let excluded = record.excludedNanoseconds ?? 0
        state.withLock { state in
            if var known = state.monitorReports[record.id] {
                if record.phase == .begin || state.ended.contains(record.id) { known.extraLines += 1 }
                known.duration = record.durationNanoseconds
                known.excluded = excluded
                known.bounds = record.durationBounds
                state.monitorReports[record.id] = known
            } else {
                state.order.append(record.id)
                state.monitorReports[record.id] = .init(
                    isStarvation: record.kind == .starvation,
                    start: record.startMonotonicNanoseconds,
                    duration: record.durationNanoseconds,
                    excluded: excluded,
                    // `hangAfter` is zero, so the first line is written at detection, with the duration until then.
                    detected: record.startMonotonicNanoseconds + record.durationNanoseconds + excluded
                )
            }
            if record.phase != .begin { state.ended.insert(record.id) }
        }
    }

    /// The reports, in the order in which they were first reported.
    var monitorReports: [TargetReport.MonitorReport] {
        state.withLock { state in state.order.compactMap { state.monitorReports[$0] } }
    }
}
