internal import ArgumentParser
internal import LagMonitor

/// The options that say which loops of other programs are watched.
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

    /// The values of the options, by key path.
    var values: [String: JSONValue] { Self.values(process: process, thread: thread) }

    static func values(process: [String], thread: [String]) -> [String: JSONValue] {
        var values: [String: JSONValue] = [:]
        for (key, texts) in [(SettingKey.process, process), (.thread, thread)] where !texts.isEmpty {
            values[key.path] = .array(texts.flatMap(RuleName.words).map(JSONValue.string))
        }
        return values
    }
}
