#if Metrics
    public import CoreMetrics
    public import Dispatch
    public import LagMonitor

    /// Stalls as metrics, by swift-metrics.
    ///
    /// ```swift
    /// import LagMonitor
    /// import LagMonitorMetrics
    ///
    /// let metrics = StallMetrics(of: monitor)
    /// ```
    /// | metric | kind | labels |
    /// |---|---|---|
    /// | `lagmonitor_loop_stall_duration_seconds` | timer (a histogram in Prometheus) | `loop`, `cause` |
    /// | `lagmonitor_stalled_seconds_total` | counter | `loop`, `cause` |
    /// | `lagmonitor_stall_in_progress` | gauge: 1 from when a stall is a hang to its end; of several of one name while one hangs | `loop` |
    /// | `lagmonitor_last_stall_timestamp_seconds` | gauge: when the last stall began, since 1970 | `loop` |
    /// | `lagmonitor_loop_lag_seconds` | gauge, set by ``updateLag(of:)`` | `loop` |
    /// | `lagmonitor_records_dropped_total` | counter | `reason` |
    /// | `lagmonitor_stalls_suppressed_total` | counter: stalls whose lines a limit held back | |
    /// | `lagmonitor_build_info` | gauge, always 1 | `version` |
    ///
    /// Each also has ``StallMonitorConfiguration/labels``, with `-` in their names replaced by `_`. No label contains a
    /// fingerprint, thread or function, so the number of series is known in advance. Limits
    /// (``StallMonitorConfiguration/limits``) only hold back lines: the metrics include every stall.
    ///
    /// Any thread. Records are counted on a queue of their own, never on a stalled loop.
    public final class StallMetrics: Sendable {
        /// The package's version, in `lagmonitor_build_info`.
        public static let version = "0.1.0"

        /// The previous counts, so that only the increase is counted.
        private struct ReportedCounts {
            var dropped: UInt64 = 0
            var missed: UInt64 = 0
            var suppressed: UInt64 = 0
            var handler: StallHandler?
        }

        private weak let source: (any StallSource)?
        /// The source's labels, as dimensions of every metric.
        private let labels: [(String, String)]
        private let series: PthreadMutex<MetricSeries>
        private let reportedCounts = PthreadMutex(ReportedCounts())
        /// Hangs in progress, by loop: several threads of a pool have one name.
        private let hangs = PthreadMutex([String: Set<StallID>]())
        /// The limit for one name: if this queue missed ends, the set must not grow without bound.
        private static let hangsOfLoop = 1024

        /// - Parameters:
        ///   - source: a monitor. It is not kept alive; keep this object as long as anything is to be counted.
        ///   - factory: where the metrics go; by default the one with which `MetricsSystem` was bootstrapped.
        ///   - queue: where it counts.
        public init(
            of source: any StallSource,
            factory: any MetricsFactory = MetricsSystem.factory,
            on queue: DispatchQueue = DispatchQueue(label: "LagMonitor.metrics")
        ) {
            self.source = source
            labels = source.labels.sorted { $0.key < $1.key }.map { (RecordLabels.metricName($0.key), $0.value) }
            series = PthreadMutex(MetricSeries(factory: factory))
            gauge("lagmonitor_build_info", [("version", Self.version)]).record(1)
            let handler = source.onStall(queue: queue, includesSuppressed: true) { [weak self] record in self?.count(record) }
            reportedCounts.withLock { $0.handler = handler }
        }

        deinit { reportedCounts.withLock { $0.handler }?.cancel() }

        /// Sets `lagmonitor_loop_lag_seconds`: how long these loops have been in their current activity; a new event has to wait
        /// at least this long. 0 if a loop is idle. Call it as often as the metrics are collected; some 50 ns per loop and the
        /// factory's cost.
        /// - Parameter loops: with the names under which they are watched. For a loop that publishes no activity (NIO's loops,
        ///   queues, the concurrency pool) it is how long its heartbeat has waited: a lag shorter than the rule's interval may
        ///   not be seen.
        public func updateLag(of loops: [any ObservableLoop]) {
            for loop in loops {
                guard let lag = loop.knownLagNanoseconds else { continue }
                gauge("lagmonitor_loop_lag_seconds", [("loop", loop.name)]).record(Self.seconds(lag))
            }
            countLineless()
        }

        package func count(_ record: StallRecord) {
            let loop = [("loop", record.loop)]
            let isOver = record.phase != .begin
            countLineless()
            gauge("lagmonitor_stall_in_progress", loop).record(countHang(record, isOver: isOver) ? 1 : 0)
            gauge("lagmonitor_last_stall_timestamp_seconds", loop).record(Double(record.startRealtimeNanoseconds) / 1e9)
            guard isOver else { return }
            let why = loop + [("cause", record.cause.rawValue)]
            series.withLock { $0.durations("lagmonitor_loop_stall_duration_seconds", why + labels) }
                .recordNanoseconds(Int64(clamping: record.durationNanoseconds))
            series.withLock { $0.seconds("lagmonitor_stalled_seconds_total", why + labels) }
                .increment(by: Self.seconds(record.durationNanoseconds))
        }

        /// Whether a loop of that name hangs.
        private func countHang(_ record: StallRecord, isOver: Bool) -> Bool {
            hangs.withLock { hangs in
                var present = hangs[record.loop] ?? []
                if isOver {
                    present.remove(record.id)
                } else if present.count < Self.hangsOfLoop {
                    present.insert(record.id)
                }
                hangs[record.loop] = present.isEmpty ? nil : present
                return !present.isEmpty
            }
        }

        /// `not_written`: memory was not prepared for that many stalls at once, or a sink did not accept the line. `not_counted`:
        /// the queue of these metrics did not keep up.
        private func countLineless() {
            guard let statistics = source?.statistics else { return }
            let (lost, missed, suppressed) = reportedCounts.withLock { reported in
                let missed = reported.handler?.missed ?? 0
                let before = reported
                reported.dropped = max(statistics.dropped, before.dropped)
                reported.suppressed = max(statistics.suppressed, before.suppressed)
                reported.missed = missed
                return (reported.dropped - before.dropped, missed - before.missed, reported.suppressed - before.suppressed)
            }
            if suppressed > 0 {
                series.withLock { $0.counter("lagmonitor_stalls_suppressed_total", labels) }
                    .increment(by: Int64(clamping: suppressed))
            }
            for (reason, count) in [("not_written", lost), ("not_counted", missed)] where count > 0 {
                series.withLock { $0.counter("lagmonitor_records_dropped_total", [("reason", reason)] + labels) }
                    .increment(by: Int64(clamping: count))
            }
            // The end of a hang may be among the lost records: report no hang rather than one that is over.
            if lost > 0 || missed > 0 { hangs.withLock { $0 = [:] } }
        }

        private func gauge(_ label: String, _ dimensions: [(String, String)]) -> Gauge {
            series.withLock { $0.gauge(label, dimensions + labels) }
        }

        private static func seconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds) / 1e9 }
    }
#else
    public import Dispatch
    internal import LagModel
    public import LagMonitor

    @available(*, unavailable, message: "turn on the trait 'Metrics' of the package LagMonitor: traits: [\"Metrics\"]")
    public final class StallMetrics {
        public init(of source: any StallSource, factory: Any? = nil, on queue: DispatchQueue? = nil) {}
        public func updateLag(of loops: [any ObservableLoop]) {}
    }
#endif
