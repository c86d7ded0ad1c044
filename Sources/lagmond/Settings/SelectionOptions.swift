internal import ArgumentParser
internal import LagMonitor

/// The options that select which loops of other programs are watched, and which attributes of their published contexts are read.
struct SelectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Watch only loops of processes with this name; a pattern with *, ? and [], may be repeated.",
            valueName: "pattern"
        )
    )
    var process: [String] = []

    @Option(
        help: ArgumentHelp(
            "Watch only loops on threads with this name (main: the main thread); a pattern, may be repeated.",
            valueName: "pattern"
        )
    )
    var thread: [String] = []

    @Option(
        help: ArgumentHelp(
            "Record only these attributes of OpenTelemetry contexts that programs publish; a pattern, may be repeated.",
            valueName: "pattern"
        )
    )
    var attribute: [String] = []

    @Option(
        help: ArgumentHelp("Do not read these attributes of such contexts; a pattern, may be repeated.", valueName: "pattern")
    )
    var withoutAttribute: [String] = []

    /// The values of the options, by key path.
    var values: [String: JSONValue] {
        Self.values(process: process, thread: thread, attribute: attribute, withoutAttribute: withoutAttribute)
    }

    static func values(
        process: [String] = [],
        thread: [String] = [],
        attribute: [String] = [],
        withoutAttribute: [String] = []
    ) -> [String: JSONValue] {
        var values: [String: JSONValue] = [:]
        let given = [
            (SettingKey.process, process), (.thread, thread), (.attribute, attribute), (.withoutAttribute, withoutAttribute),
        ]
        for (key, texts) in given where !texts.isEmpty {
            values[key.path] = .array(texts.flatMap(RuleName.words).map(JSONValue.string))
        }
        return values
    }
}
