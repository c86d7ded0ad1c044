internal import LagMonitor
internal import LagOutput

/// `/healthz`: whether stalls would be detected and their lines written. A hanging watched loop is not a fault of lagmond: the
/// page names it, and the status stays 200.
struct HealthPage {
    static let contentType = "application/json"
    /// A longer call of the sink blocks the reporter.
    static let sinkTimeout: Duration = .seconds(5)

    let isWatching: Bool
    let sinkName: String
    let sink: HealthTrackingSink.Health
    let statistics: StallMonitorStatistics
    let stalledLoops: [StallCounts.LoopKey]
    var targets: [TargetStatus] = []
    let now: MonotonicTime

    /// Why the answer is 503; empty when all is well.
    var faults: [String] {
        var faults: [String] = []
        if !isWatching { faults.append("the monitor does not run") }
        faults += targets.compactMap { target in target.fault.map { (target.name.map { "\($0): " } ?? "") + $0 } }
        if let failure = sink.failure { faults.append(failure) }
        if let since = sink.busySince, now - since > Self.sinkTimeout {
            faults.append("\(sinkName) has been writing a line for \((now - since).shown)")
        }
        return faults
    }

    var text: String {
        let faults = faults
        var writer = JSONLineWriter()
        writer.beginObject()
        writer.key("status")
        if faults.isEmpty { writer.value("ok") } else { writer.value("failing") }
        writer.key("faults")
        writer.beginArray()
        for fault in faults { writer.value(fault, maxBytes: 512) }
        writer.endArray()
        writer.field("watching", isWatching)
        writer.field("output", sinkName, 512)
        writer.field("output_waiting", UInt64(sink.unsettled))
        for (name, count) in [
            ("stalls" as StaticString, statistics.stalls), ("reported", statistics.reported),
            ("dropped_total", statistics.dropped), ("suppressed_total", statistics.suppressed),
        ] {
            writer.field(name, count)
        }
        writer.key("stalled_loops")
        writer.beginArray()
        for loop in stalledLoops { writer.value(loop.path, maxBytes: 512) }
        writer.endArray()
        if !targets.isEmpty { write(targets, &writer) }
        writer.endObject()
        writer.endLine()
        return writer.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    private func write(_ targets: [TargetStatus], _ writer: inout JSONLineWriter) {
        writer.key("targets")
        writer.beginArray()
        for target in targets {
            writer.beginObject()
            if let name = target.name { writer.field("name", name, 512) }
            writer.field("state", target.phase, 64)
            if target.pid != 0 { writer.field("pid", UInt64(target.pid)) }
            writer.field("restarts", target.restarts)
            writer.key("processes")
            writer.beginArray()
            for process in target.processes { write(process, &writer) }
            writer.endArray()
            if !target.unwatched.isEmpty { write(target.unwatched, as: "not_watched", &writer) }
            let silent = target.silent
            if !silent.isEmpty { write(silent, as: "without_loop", &writer) }
            if target.lacksSlots {
                writer.key("table_full")
                writer.value(true)
            }
            writer.endObject()
        }
        writer.endArray()
    }

    private func write(_ unwatched: [WatchReporter.Unwatched], as key: StaticString, _ writer: inout JSONLineWriter) {
        writer.key(key)
        writer.beginArray()
        for process in unwatched {
            writer.beginObject()
            writer.field("pid", UInt64(process.pid))
            writer.field("process_name", process.name, 512)
            writer.field("reason", process.reason, 512)
            writer.endObject()
        }
        writer.endArray()
    }

    private func write(_ process: TargetStatus.Process, _ writer: inout JSONLineWriter) {
        writer.beginObject()
        writer.field("pid", UInt64(process.pid))
        writer.field("process_name", process.name, 512)
        writer.key("loops")
        writer.beginArray()
        for loop in process.loops {
            writer.beginObject()
            writer.field("loop", loop.name, 512)
            writer.key("busy_for_ms")
            writer.value(loop.lagNanoseconds / 1_000_000)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}

extension StallCounts.LoopKey {
    /// A readable name: `main`; for a command `cache/redis-server/main`.
    var path: String { [target, process, loop].compactMap(\.self).joined(separator: "/") }
}
