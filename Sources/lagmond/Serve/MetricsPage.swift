internal import LagMonitor

/// `/metrics`.
///
/// No label contains a fingerprint, a symbol, or a process or thread ID: the number of series is known beforehand, or bounded
/// (``StallCounts/maximumPlaces``).
struct MetricsPage {
    let counts: StallCounts.Snapshot
    /// The duration of each loop's current callback; for several loops of one series, the longest.
    let lags: [StallCounts.LoopKey: UInt64]
    var dropped: UInt64 = 0
    /// Stalls suppressed by limits.
    var suppressed: UInt64 = 0
    /// The operator's labels, in every sample.
    var labels = RecordLabels.none
    /// The status of commands.
    var targets: [TargetStatus] = []
    var format = MetricsFormat.prometheus

    var text: String {
        var text = ""
        let isOpen = format == .openMetrics
        func family(_ name: String, _ type: String, _ help: String) {
            // In OpenMetrics, a counter's family name lacks the suffix of its sample.
            let name = isOpen && type == "counter" ? String(name.dropLast("_total".count)) : name
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
        }
        let common = labels.pairs.map { (RecordLabels.metricName($0.name), $0.value) }
        func sample(_ name: String, _ labels: [(String, String)], _ value: String, _ exemplar: StallCounts.Exemplar? = nil) {
            let labels = (labels + common).map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
            let suffix = isOpen ? exemplar.map(Self.text) ?? "" : ""
            text += "\(name){\(labels)} \(value)\(suffix)\n"
        }
        let series = counts.durations.sorted { ($0.key.place, $0.key.cause.rawValue) < ($1.key.place, $1.key.cause.rawValue) }
        let loops = counts.loops.sorted { $0.key < $1.key }

        family("lagmonitor_build_info", "gauge", "Always 1; which version of lagmond this is.")
        sample("lagmonitor_build_info", [("version", Lagmond.version)], "1")

        let lag = "lagmonitor_loop_lag_seconds"
        family(lag, "gauge", "Duration of the loop's current callback; 0 at rest.")
        for (place, nanoseconds) in lags.sorted(by: { $0.key < $1.key }) {
            sample(lag, place.labels, Self.seconds(nanoseconds))
        }

        let duration = "lagmonitor_loop_stall_duration_seconds"
        family(duration, "histogram", "Durations of ended stalls.")
        for (key, durations) in series {
            let labels = key.place.labels + [("cause", key.cause.rawValue)]
            var sum: UInt64 = 0
            for (index, bound) in StallCounts.bounds.enumerated() {
                sum += durations.buckets[index]
                let le = isOpen ? "\(bound)" : Self.number(bound)
                sample(duration + "_bucket", labels + [("le", le)], "\(sum)", durations.exemplars[index])
            }
            let last = durations.exemplars[StallCounts.bounds.count]
            sample(duration + "_bucket", labels + [("le", "+Inf")], "\(durations.count)", last)
            sample(duration + "_sum", labels, Self.seconds(durations.nanoseconds))
            sample(duration + "_count", labels, "\(durations.count)")
        }

        let stalled = "lagmonitor_stalled_seconds_total"
        family(stalled, "counter", "Sum of the durations of all ended stalls.")
        for (key, durations) in series {
            sample(stalled, key.place.labels + [("cause", key.cause.rawValue)], Self.seconds(durations.nanoseconds))
        }

        let inProgress = "lagmonitor_stall_in_progress"
        family(inProgress, "gauge", "Stalls in progress that have lasted longer than hang_after_ms.")
        for (place, state) in loops { sample(inProgress, place.labels, "\(state.inProgress.count)") }

        let last = "lagmonitor_last_stall_timestamp_seconds"
        family(last, "gauge", "When the last stall began, in seconds since 1970; 0 if there was none.")
        for (place, state) in loops {
            sample(last, place.labels, Self.seconds((state.lastMilliseconds ?? 0) * 1_000_000))
        }

        let lost = "lagmonitor_records_dropped_total"
        family(lost, "counter", "Records lost without a line written.")
        sample(lost, [("reason", "not_written")], "\(dropped)")

        let held = "lagmonitor_stalls_suppressed_total"
        family(held, "counter", "Stalls whose lines were suppressed by a limit; the other metrics count them.")
        sample(held, [], "\(suppressed)")

        for (name, type, help, value) in Self.targetFamilies where !targets.isEmpty {
            family(name, type, help)
            for target in targets { sample(name, target.labels, value(target)) }
        }
        if isOpen { text += "# EOF\n" }
        return text
    }

    private static func text(_ exemplar: StallCounts.Exemplar) -> String {
        let labels = "trace_id=\"\(escaped(exemplar.traceID))\",span_id=\"\(escaped(exemplar.spanID))\""
        let time = seconds(exemplar.milliseconds &* 1_000_000)
        return " # {\(labels)} \(seconds(exemplar.nanoseconds)) \(time)"
    }

    private static let targetFamilies: [(String, String, String, @Sendable (TargetStatus) -> String)] = [
        ("lagmonitor_target_up", "gauge", "Whether the command runs.", { $0.pid == 0 ? "0" : "1" }),
        ("lagmonitor_target_loops", "gauge", "Loops that are watched now.", { "\($0.loops)" }),
        (
            "lagmonitor_target_given_up", "gauge", "Whether lagmond gave up on the command after too many restarts.",
            { $0.phase == CommandLifecycle.Phase.givenUp.rawValue ? "1" : "0" }
        ),
        ("lagmonitor_target_restarts_total", "counter", "How often the command was restarted.", { "\($0.restarts)" }),
        ("lagmonitor_hang_signals_total", "counter", "Signals sent because of a hang.", { "\($0.signals)" }),
    ]

    /// Without trailing zeros in the fraction.
    static func seconds(_ nanoseconds: UInt64) -> String {
        let fraction = nanoseconds % 1_000_000_000
        guard fraction > 0 else { return "\(nanoseconds / 1_000_000_000)" }
        var digits = String(fraction)
        digits = String(repeating: "0", count: 9 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(nanoseconds / 1_000_000_000).\(digits)"
    }

    private static func number(_ value: Double) -> String { value == value.rounded() ? "\(Int(value))" : "\(value)" }

    /// A label's value, with backslash, quote and newline escaped.
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

extension StallCounts.LoopKey {
    fileprivate var labels: [(String, String)] {
        var labels: [(String, String)] = []
        if let target { labels.append(("target", target)) }
        if let process { labels.append(("process", process)) }
        return labels + [("loop", loop)]
    }
}
