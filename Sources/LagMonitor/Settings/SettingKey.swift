internal import LagOutput

/// A setting of a monitor (or of lagmond): its name in each source, and its allowed values.
package struct SettingKey: Sendable {
    /// The allowed values of a setting, with their bounds.
    package enum Form: Sendable {
        case wholeNumber(ClosedRange<Int>)
        case positiveNumber(upTo: Double)
        case choice([String])
        /// At least one of these, each once: a text with commas, in a file also a list.
        case names([String])
        /// Texts, none of them empty: one text with commas, in a file also a list; an empty list is allowed.
        case texts
        /// At least one pattern of a shell: a text with commas, in a file also a list.
        case patterns
        case text
        /// ``RecordLabels``: in a file an object, else `name=value` with commas, or a list of such texts.
        case labels
        /// A path, and not `-`: stdout is for records.
        case file
        /// The path of a folder.
        case folder
        /// Where lines go: ``OutputSettings/Destination``.
        case destination
        /// A text that lagmond parses.
        case custom(allowed: String, validate: @Sendable (String) -> String?)
    }

    /// The key's path in the file: `monitor.interval_ms`.
    package let path: String
    package let form: Form
    /// The option on the command line, if there is one: `--interval-ms`.
    package let option: String?
    /// Whether the configuration file may contain it (it cannot name itself).
    package let inFile: Bool
    /// The rules that have this parameter; empty: it is not a rule's parameter.
    package let users: [RuleName]

    package init(_ path: String, _ form: Form, option: String? = nil, inFile: Bool = true, for users: RuleName...) {
        self.path = path
        self.form = form
        self.option = option
        self.inFile = inFile
        self.users = users
    }

    /// The key as written in a source.
    package func name(in source: SettingValidationError.Source) -> String {
        switch source {
        case .file: path
        case .environment: environmentName
        case .commandLine: option ?? path
        }
    }

    /// `LAGMONITOR_` and the path in capitals, in the style of swift-configuration.
    package var environmentName: String { Self.environmentPrefix + path.uppercased().replacing(".", with: "_") }

    package static let environmentPrefix = "LAGMONITOR_"

    /// Has the prefix of a setting but is not one: lagmond's shared loop table for the programs that it starts.
    package static let sharedLoopTableName = "LAGMONITOR_LOOP_TABLE"
    /// Names with the prefix that are not settings; the second chooses what Package.swift builds, and may be left in a shell.
    package static let reservedNames: Set = [sharedLoopTableName, "LAGMONITOR_UNSUPPORTED"]
    /// Variables of settings that only lagmond has. A container may have them for a lagmond beside it; a monitor in the
    /// container's program ignores them.
    package static let lagmondNames = Set(
        [
            "CONFIG", "DURATION_S", "HTTP_LISTEN", "OUTPUT_HEADERS", "TRUTH_PATH", "COMMAND_ON_HANG", "COMMAND_ON_HANG_AFTER_S",
            "COMMAND_PERF_MAP", "COMMAND_REQUIRE_WATCH", "COMMAND_RESTART", "COMMAND_RESTART_COUNT", "COMMAND_RESTART_DELAY_MS",
            "COMMAND_RESTART_HEALTHY_S", "COMMAND_RESTART_MAX_DELAY_MS", "COMMAND_RESTART_WINDOW_S", "COMMAND_STOP_GRACE_S",
            "WATCH_ATTRIBUTE", "WATCH_PROCESS", "WATCH_THREAD", "WATCH_WITHOUT_ATTRIBUTE",
        ].map { environmentPrefix + $0 }
    )

    package static let hourMilliseconds = 3_600_000
    /// No useful value exceeds a day.
    package static let dayMilliseconds = 86_400_000

    /// The bounds of ``StallRules`` for an interval and a number of timeouts.
    private static let intervals = Form.wholeNumber(1...60_000)
    private static let counts = Form.wholeNumber(1...1000)

    package static let output = SettingKey("output.path", .destination, option: "--output")
    package static let format = SettingKey(
        "output.format",
        .choice(RecordFormat.names),
        option: "--format"
    )
    package static let outputBytes = SettingKey(
        "output.max_bytes",
        .wholeNumber(FileRotation.allowedBytes),
        option: "--max-bytes"
    )
    package static let outputFiles = SettingKey(
        "output.max_files",
        .wholeNumber(FileRotation.allowedFiles),
        option: "--max-files"
    )
    package static let outputMode = SettingKey("output.mode", .choice(FilePermissions.allCases.map(\.rawValue)))
    package static let spool = SettingKey("output.spool_path", .folder, option: "--spool")
    package static let spoolBytes = SettingKey("output.spool_max_bytes", .wholeNumber(SpoolSettings.allowedBytes))
    package static let unfinished = SettingKey("output.unfinished_path", .file)
    package static let preset = SettingKey(
        "monitor.preset",
        .choice(DetectionPreset.allCases.map(\.rawValue)),
        option: "--preset"
    )
    package static let rules = SettingKey("monitor.rules", .names(RuleName.allCases.map(\.rawValue)), option: "--rules")
    package static let interval = SettingKey("monitor.interval_ms", intervals, option: "--interval-ms", for: .callout)
    package static let timeouts = SettingKey("monitor.timeouts", counts, option: "--timeouts", for: .callout)
    package static let starvation = SettingKey(
        "monitor.starvation_ms",
        .wholeNumber(1...hourMilliseconds),
        option: "--starvation-ms",
        for: .starvation
    )
    package static let pingInterval = SettingKey("monitor.ping_interval_ms", intervals, for: .pingWhileWaiting, .ping)
    package static let pingTimeouts = SettingKey("monitor.ping_timeouts", counts, for: .pingWhileWaiting, .ping)
    package static let frameRate = SettingKey("monitor.frame_rate", .wholeNumber(1...1000), for: .frame)
    package static let frameMissed = SettingKey("monitor.frame_missed", .wholeNumber(1...100_000), for: .frame)
    package static let sampleInterval = SettingKey("monitor.sample_interval_ms", intervals, for: .sample)
    package static let sampleCount = SettingKey("monitor.sample_count", .wholeNumber(2...1000), for: .sample)
    package static let sampleFunctions = SettingKey("monitor.sample_functions", .wholeNumber(1...4), for: .sample)
    package static let startupGrace = SettingKey("monitor.startup_grace_ms", .wholeNumber(0...hourMilliseconds))
    package static let restore = SettingKey("monitor.restore_interval_ms", .wholeNumber(0...hourMilliseconds))
    package static let hangAfter = SettingKey(
        "monitor.hang_after_ms",
        .wholeNumber(0...hourMilliseconds),
        option: "--hang-after-ms"
    )
    package static let lineBytes = SettingKey("monitor.max_line_bytes", .wholeNumber(1024...1_048_576))
    package static let frames = SettingKey("monitor.max_frames", .wholeNumber(1...256))
    private static let bursts = Form.wholeNumber(0...10_000)
    private static let dayIntervals = Form.wholeNumber(1...dayMilliseconds)
    package static let limitBurst = SettingKey("monitor.limit_burst", bursts)
    package static let limitInterval = SettingKey("monitor.limit_interval_ms", dayIntervals)
    package static let limitAllBurst = SettingKey("monitor.limit_all_burst", bursts)
    package static let limitAllInterval = SettingKey("monitor.limit_all_interval_ms", dayIntervals)
    package static let limitQuiet = SettingKey("monitor.limit_quiet_ms", dayIntervals)
    package static let recurringCount = SettingKey("monitor.recurring_count", .wholeNumber(0...20))
    package static let recurringWindow = SettingKey("monitor.recurring_window_s", .wholeNumber(1...86_400))
    package static let inAppPrefixes = SettingKey("monitor.in_app_prefixes", .texts)
    package static let notInAppPrefixes = SettingKey("monitor.not_in_app_prefixes", .texts)
    package static let samples = SettingKey(
        "monitor.samples",
        .choice(StallMonitorConfiguration.Samples.allCases.map(\.rawValue))
    )
    package static let symbols = SettingKey(
        "monitor.symbols",
        .choice(StallMonitorConfiguration.Symbols.allCases.map(\.rawValue))
    )
    package static let labels = SettingKey("labels", .labels, option: "--label")
    package static let serviceName = SettingKey("service.name", .text)
    package static let serviceVersion = SettingKey("service.version", .text)

    /// Where the lines go.
    package static let outputSettings = [output, outputBytes, outputFiles, outputMode, spool, spoolBytes, unfinished]

    /// The settings of a monitor itself.
    package static let monitorSettings = [
        format, preset, rules, interval, timeouts, starvation, pingInterval, pingTimeouts, frameRate, frameMissed, sampleInterval,
        sampleCount, sampleFunctions, startupGrace, restore, hangAfter, limitBurst, limitInterval, limitAllBurst,
        limitAllInterval, limitQuiet, recurringCount, recurringWindow, lineBytes, frames, samples, symbols, inAppPrefixes,
        notInAppPrefixes, labels, serviceName, serviceVersion,
    ]

    /// The allowed values, in words.
    package var allowed: String {
        switch form {
        case .wholeNumber(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .positiveNumber(let limit): "a number above 0, up to \(Int(limit))"
        case .choice(let names): names.joined(separator: ", ")
        case .names(let names): "one or more of \(names.joined(separator: ", ")), with commas between them"
        case .texts: "strings that are not empty, as a list or with commas between them"
        case .patterns: "names, or patterns with *, ? and [], none of them empty, as a list or with commas between them"
        case .text: "a string that is not empty"
        case .labels: RecordLabels.allowed
        case .file: "the path of a file"
        case .folder: "the path of a folder"
        case .destination: OutputSettings.Destination.allowed
        case .custom(let allowed, _): allowed
        }
    }

    /// Whether a value has several parts, one of which may be wrong.
    package var hasParts: Bool {
        switch form {
        case .names, .texts, .patterns, .labels: true
        default: false
        }
    }

    /// What is wrong with a value, or nil.
    package func validationError(for value: JSONValue) -> String? {
        switch (form, value) {
        case (.wholeNumber(let range), .int(let int)): range.contains(int) ? nil : "\(int) is out of bounds"
        case (.wholeNumber, _): "\(value.displayText) is not a whole number"
        case (.positiveNumber(let limit), .int(let int)): int > 0 && Double(int) <= limit ? nil : "\(int) is out of bounds"
        case (.positiveNumber(let limit), .double(let double)):
            double > 0 && double <= limit ? nil : "\(double) is out of bounds"
        case (.positiveNumber, _): "\(value.displayText) is not a number"
        case (.choice(let names), .string(let name)): names.contains(name) ? nil : "unknown name \"\(name)\""
        case (.choice, _): "\(value.displayText) is not a name"
        case (.names(let names), .string(let text)):
            text.isEmpty
                ? "the string is empty" : Self.validationError(inWords: RuleName.words(in: text).map(JSONValue.string), names)
        case (.names(let names), .array(let words)):
            words.isEmpty ? "the list is empty" : Self.validationError(inWords: words, names)
        case (.names, _): "\(value.displayText) is not a list of names"
        case (.texts, .string(let text)):
            text.isEmpty ? nil : Self.validationError(inTexts: RuleName.words(in: text).map(JSONValue.string))
        case (.texts, .array(let texts)): Self.validationError(inTexts: texts)
        case (.texts, _): "\(value.displayText) is not a list of strings"
        case (.patterns, .string(let text)): Self.validationError(inTexts: RuleName.words(in: text).map(JSONValue.string))
        case (.patterns, .array(let texts)): texts.isEmpty ? "the list is empty" : Self.validationError(inTexts: texts)
        case (.patterns, _): "\(value.displayText) is not a list of strings"
        case (.labels, _): LabelPairs.validationError(for: value)
        case (.file, .string("-")): "- is not a file"
        case (.custom(_, let validate), .string(let text)): validate(text)
        case (.custom(_, let validate), .int(let int)): validate("\(int)")
        case (.destination, .string(let text)): OutputSettings.Destination.validationError(for: text)
        case (.text, .string(let text)), (.file, .string(let text)), (.folder, .string(let text)):
            text.isEmpty ? "the string is empty" : text.utf8.contains(0) ? "the string contains a zero byte" : nil
        case (.text, _), (.file, _), (.folder, _), (.destination, _), (.custom, _): "\(value.displayText) is not a string"
        }
    }

    /// All errors in the words of a list, in one line.
    private static func validationError(inWords words: [JSONValue], _ names: [String]) -> String? {
        var seen: [JSONValue] = []
        var reason: [String] = []
        for word in words {
            switch word {
            case .string(""): reason.append("an empty name")
            case .string(let name) where !names.contains(name): reason.append("unknown name \"\(name)\"")
            case .string(let name): if seen.contains(word) { reason.append("\"\(name)\" is listed twice") }
            default: reason.append("\(word.displayText) is not a name")
            }
            seen.append(word)
        }
        return reason.isEmpty ? nil : reason.joined(separator: ", ")
    }

    /// All errors in the texts of a list, in one line.
    private static func validationError(inTexts texts: [JSONValue]) -> String? {
        let reason: [String] = texts.compactMap { text in
            guard case .string(let text) = text else { return "\(text.displayText) is not a string" }
            return text.isEmpty ? "an empty string" : text.utf8.contains(0) ? "a string contains a zero byte" : nil
        }
        return reason.isEmpty ? nil : reason.joined(separator: ", ")
    }

    /// A word from the environment, converted to the value that it names.
    package func value(of word: String) -> JSONValue {
        switch form {
        case .wholeNumber: Int(word).map(JSONValue.int) ?? .string(word)
        case .positiveNumber: Int(word).map(JSONValue.int) ?? Double(word).map(JSONValue.double) ?? .string(word)
        case .choice, .names, .texts, .patterns, .text, .labels, .file, .folder, .destination, .custom: .string(word)
        }
    }
}
