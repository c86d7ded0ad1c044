internal import LagMonitor
internal import LagReport

/// `/healthz`: whether stalls would be noticed and their lines written. That the watched loop hangs is no fault of the one who says so: it
/// stands there, and the answer is 200 all the same.
struct HealthPage {
    static let contentType = "application/json"
    /// A call of the sink that takes longer is one that the reporter is behind by.
    static let patience: Duration = .seconds(5)

    let isWatching: Bool
    let sinkName: String
    let sink: WatchedSink.Health
    let statistics: LagMonitorStatistics
    let stalledLoops: [String]
    let now: MonotonicTime

    /// Why the answer is 503; empty when all is well.
    var faults: [String] {
        var faults: [String] = []
        if !isWatching { faults.append("the monitor does not run") }
        if let failure = sink.failure { faults.append(failure) }
        if let since = sink.busySince, now - since > Self.patience {
            faults.append("\(sinkName) has been taking a line for \((now - since).components.seconds) s")
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
        writer.key("watching")
        writer.value(isWatching)
        writer.key("output")
        writer.value(sinkName, maxBytes: 512)
        writer.key("output_waiting")
        writer.value(UInt64(sink.unsettled))
        for (name, count) in [
            ("stalls" as StaticString, statistics.stalls), ("reported", statistics.reported),
            ("dropped_total", statistics.dropped), ("suppressed_total", statistics.suppressed),
        ] {
            writer.key(name)
            writer.value(count)
        }
        writer.key("stalled_loops")
        writer.beginArray()
        for loop in stalledLoops { writer.value(loop, maxBytes: 512) }
        writer.endArray()
        writer.endObject()
        writer.endLine()
        return writer.withBytes { String(decoding: $0, as: UTF8.self) }
    }
}
