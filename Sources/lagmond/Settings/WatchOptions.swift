internal import ArgumentParser
internal import LagMonitor

/// The options of every command that watches: what is a stall, and where its line goes.
struct WatchOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The configuration, a JSON file.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "Where the records go: a path, - for stdout, journald, unix:SOCKET, tcp:HOST:PORT, otlp:URL.",
            valueName: "destination"
        )
    )
    var output: String?

    @Option(help: ArgumentHelp("How a line looks: native, otlp, ecs, sentry (native; to otlp: always otlp).", valueName: "name"))
    var format: String?

    @Option(
        name: .customLong("max-bytes"),
        help: ArgumentHelp("Before a file becomes longer, it is renamed to path.1 and a new one begun.", valueName: "bytes")
    )
    var maxBytes: Int?

    @Option(name: .customLong("max-files"), help: ArgumentHelp("How many renamed files are kept (5).", valueName: "count"))
    var maxFiles: Int?

    @Option(
        help: ArgumentHelp(
            "Serve /metrics, /healthz and /stalls over HTTP there: 127.0.0.1:9464; a port alone: of 127.0.0.1.",
            valueName: "address"
        )
    )
    var listen: String?

    @Option(
        help: ArgumentHelp("Detection by name: standard (50 ms x 3), relaxed (80 ms x 3), restoring (50 ms x 5, then 5 s rest).")
    )
    var preset: String?

    @Option(
        help: ArgumentHelp(
            "What is a stall, with commas: callout, starvation, ping_while_waiting, ping, frame, sample (callout,starvation).",
            valueName: "names"
        )
    )
    var rules: String?

    @Option(name: .customLong("interval-ms"), help: ArgumentHelp("Rule callout: one timeout of the watchdog.", valueName: "ms"))
    var intervalMilliseconds: Int?

    @Option(help: ArgumentHelp("Rule callout: how many timeouts in a row are a stall.", valueName: "count"))
    var timeouts: Int?

    @Option(
        name: .customLong("starvation-ms"),
        help: ArgumentHelp("Rule starvation: how long a loop may work without a rest (1000).", valueName: "ms")
    )
    var starvationMilliseconds: Int?

    @Option(
        name: .customLong("hang-after-ms"),
        help: ArgumentHelp("When a stall that is not over is reported all the same; 0: at detection.", valueName: "ms")
    )
    var hangAfterMilliseconds: Int?

    /// What the options say, by key path.
    var values: [String: JSONValue] {
        var values: [String: JSONValue] = [:]
        values[SettingKey.config.path] = config.map(JSONValue.string)
        values[SettingKey.output.path] = output.map(JSONValue.string)
        values[SettingKey.format.path] = format.map(JSONValue.string)
        values[SettingKey.outputBytes.path] = maxBytes.map(JSONValue.int)
        values[SettingKey.outputFiles.path] = maxFiles.map(JSONValue.int)
        values[SettingKey.listen.path] = listen.map(JSONValue.string)
        values[SettingKey.preset.path] = preset.map(JSONValue.string)
        values[SettingKey.rules.path] = rules.map(JSONValue.string)
        values[SettingKey.starvation.path] = starvationMilliseconds.map(JSONValue.int)
        values[SettingKey.interval.path] = intervalMilliseconds.map(JSONValue.int)
        values[SettingKey.timeouts.path] = timeouts.map(JSONValue.int)
        values[SettingKey.hangAfter.path] = hangAfterMilliseconds.map(JSONValue.int)
        return values
    }
}
