internal import LagMonitor

/// `/metrics`: the text format of Prometheus, version 0.0.4.
///
/// No label is by fingerprint, process or symbol: how many series there are is known beforehand.
struct MetricsPage {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    let counts: StallCounts.Snapshot
    /// For how long each loop has been at what it does now, by its name.
    let lags: [(loop: String, nanoseconds: UInt64)]
    let dropped: UInt64

    var text: String {
        var text = ""
        func family(_ name: String, _ type: String, _ help: String) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
        }
        func sample(_ name: String, _ labels: [(String, String)], _ value: String) {
            let labels = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
            text += "\(name){\(labels)} \(value)\n"
        }
        let series = counts.durations.sorted { ($0.key.loop, $0.key.cause.rawValue) < ($1.key.loop, $1.key.cause.rawValue) }
        let loops = counts.loops.sorted { $0.key < $1.key }

        family("lagmonitor_build_info", "gauge", "Always 1; which version of lagmond this is.")
        sample("lagmonitor_build_info", [("version", Lagmond.version)], "1")

        let lag = "lagmonitor_loop_lag_seconds"
        family(lag, "gauge", "For how long the loop has been at what it does now; 0 at rest.")
        for (loop, nanoseconds) in lags { sample(lag, [("loop", loop)], Self.seconds(nanoseconds)) }

        let duration = "lagmonitor_loop_stall_duration_seconds"
        family(duration, "histogram", "How long each stall took that is over.")
        for (key, durations) in series {
            let labels = [("loop", key.loop), ("cause", key.cause.rawValue)]
            var sum: UInt64 = 0
            for (index, bound) in StallCounts.bounds.enumerated() {
                sum += durations.buckets[index]
                sample(duration + "_bucket", labels + [("le", Self.number(bound))], "\(sum)")
            }
            sample(duration + "_bucket", labels + [("le", "+Inf")], "\(durations.count)")
            sample(duration + "_sum", labels, Self.seconds(durations.nanoseconds))
            sample(duration + "_count", labels, "\(durations.count)")
        }

        let stalled = "lagmonitor_stalled_seconds_total"
        family(stalled, "counter", "The durations of all stalls that are over, added up.")
        for (key, durations) in series {
            sample(stalled, [("loop", key.loop), ("cause", key.cause.rawValue)], Self.seconds(durations.nanoseconds))
        }

        let inProgress = "lagmonitor_stall_in_progress"
        family(inProgress, "gauge", "1 from a hang's begin line to its end, else 0.")
        for (loop, state) in loops { sample(inProgress, [("loop", loop)], state.isStalled ? "1" : "0") }

        let last = "lagmonitor_last_stall_timestamp_seconds"
        family(last, "gauge", "When the last stall began, in seconds since 1970; 0 when there was none.")
        for (loop, state) in loops {
            sample(last, [("loop", loop)], Self.seconds((state.lastMilliseconds ?? 0) * 1_000_000))
        }

        let lost = "lagmonitor_records_dropped_total"
        family(lost, "counter", "Records that no line was written of.")
        sample(lost, [("reason", "not_written")], "\(dropped)")
        return text
    }

    /// With as many fractional digits as say something.
    static func seconds(_ nanoseconds: UInt64) -> String {
        let fraction = nanoseconds % 1_000_000_000
        guard fraction > 0 else { return "\(nanoseconds / 1_000_000_000)" }
        var digits = String(fraction)
        digits = String(repeating: "0", count: 9 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(nanoseconds / 1_000_000_000).\(digits)"
    }

    private static func number(_ value: Double) -> String { value == value.rounded() ? "\(Int(value))" : "\(value)" }

    /// A label's value: backslash, quote and newline.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
