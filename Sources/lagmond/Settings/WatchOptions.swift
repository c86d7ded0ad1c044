internal import ArgumentParser
internal import LagMonitor

/// The options that all watching commands share: detection and output.
struct WatchOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The configuration, a JSON file.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "Where to write the records: a path, - for stdout (not with a command or targets), journald, unix:SOCKET, tcp:HOST:PORT, otlp:URL. Default with a command: lagmond-stalls.jsonl.",
            valueName: "destination"
        )
    )
    var output: String?

    @Option(
        help: ArgumentHelp(
            "The format of a line: native (default), otlp, ecs, sentry; for otlp:URL always otlp.",
            valueName: "name"
        )
    )
    var format: String?

    @Option(
        name: .customLong("max-bytes"),
        parsing: .unconditional,
        help: ArgumentHelp("Rotate the file to path.1 before it becomes longer than this.", valueName: "bytes")
    )
    var maxBytes: String?

    @Option(
        name: .customLong("max-files"),
        parsing: .unconditional,
        help: ArgumentHelp("How many rotated files to keep (5).", valueName: "count")
    )
    var maxFiles: String?

    @Option(
        help: ArgumentHelp(
            "Keep lines in this folder while a unix:, tcp: or otlp: destination does not accept them, and send them later.",
            valueName: "folder"
        )
    )
    var spool: String?

    @Option(
        help: ArgumentHelp(
            "Serve /metrics, /healthz and /stalls over HTTP at this address: 127.0.0.1:9464, or a port of 127.0.0.1.",
            valueName: "address"
        )
    )
    var listen: String?

    @Option(
        help: ArgumentHelp("Detection preset: standard (50 ms x 3), relaxed (80 ms x 3), restoring (50 ms x 5, then 5 s rest).")
    )
    var preset: String?

    @Option(
        help: ArgumentHelp(
            "Detection rules, separated by commas: callout, starvation, ping_while_waiting, ping, frame, sample (default: callout; for lagmond's own main thread callout,starvation).",
            valueName: "names"
        )
    )
    var rules: String?

    @Option(
        name: .customLong("interval-ms"),
        parsing: .unconditional,
        help: ArgumentHelp("Rule callout: the length of one timeout.", valueName: "ms")
    )
    var intervalMilliseconds: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Rule callout: how many consecutive timeouts are a stall.", valueName: "count")
    )
    var timeouts: String?

    @Option(
        name: .customLong("starvation-ms"),
        parsing: .unconditional,
        help: ArgumentHelp("Rule starvation: how long a loop may work without a rest (1000).", valueName: "ms")
    )
    var starvationMilliseconds: String?

    @Option(
        name: .customLong("hang-after-ms"),
        parsing: .unconditional,
        help: ArgumentHelp("When a stall is reported before its end; 0: at detection.", valueName: "ms")
    )
    var hangAfterMilliseconds: String?

    @Option(
        help: ArgumentHelp("A label of your own in every record and metric: team=shop; may be repeated.", valueName: "name=value")
    )
    var label: [String] = []

    /// The values of the options, by key path.
    var values: [String: JSONValue] {
        var values: [String: JSONValue] = [:]
        if !label.isEmpty { values[SettingKey.labels.path] = .array(label.map(JSONValue.string)) }
        values[SettingKey.config.path] = config.map(JSONValue.string)
        values[SettingKey.output.path] = output.map(JSONValue.string)
        values[SettingKey.format.path] = format.map(JSONValue.string)
        values[SettingKey.outputBytes.path] = maxBytes.map(SettingKey.outputBytes.value(of:))
        values[SettingKey.outputFiles.path] = maxFiles.map(SettingKey.outputFiles.value(of:))
        values[SettingKey.spool.path] = spool.map(JSONValue.string)
        values[SettingKey.listen.path] = listen.map(JSONValue.string)
        values[SettingKey.preset.path] = preset.map(JSONValue.string)
        values[SettingKey.rules.path] = rules.map(JSONValue.string)
        values[SettingKey.starvation.path] = starvationMilliseconds.map(SettingKey.starvation.value(of:))
        values[SettingKey.interval.path] = intervalMilliseconds.map(SettingKey.interval.value(of:))
        values[SettingKey.timeouts.path] = timeouts.map(SettingKey.timeouts.value(of:))
        values[SettingKey.hangAfter.path] = hangAfterMilliseconds.map(SettingKey.hangAfter.value(of:))
        return values
    }
}
