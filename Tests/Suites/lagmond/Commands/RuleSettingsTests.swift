internal import LagMonitor
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// The rules that the settings choose, and their parameters.
@Suite struct RuleSettingsTests {
    private func load(
        _ file: String? = nil,
        environment: [String: String] = [:],
        commandLine: [String: JSONValue] = [:]
    ) throws -> Settings {
        guard let file else { return try Settings.load(commandLine: commandLine, environment: environment) }
        return try ScratchDirectory.with { directory in
            try directory.write(file, to: "c.json")
            let values = commandLine.merging(["config": .string(directory.file("c.json"))]) { $1 }
            return try Settings.load(commandLine: values, environment: environment)
        }
    }

    private func chosen(_ settings: Settings) -> Set<RuleName> {
        Set(RuleName.allCases.filter { $0.isIncluded(in: settings.monitor.rules) })
    }

    @Test func `each rule can be chosen by its name`() throws {
        for name in RuleName.allCases {
            let settings = try load(environment: ["LAGMONITOR_MONITOR_RULES": name.rawValue])
            #expect(chosen(settings) == [name])
            #expect(throws: Never.self) { try settings.monitor.validate() }
        }
    }

    @Test(arguments: [#"["callout", "frame"]"#, #""callout,frame""#, #"" frame , callout ""#])
    func `a file gives the rules as a list or as a text`(rules: String) throws {
        #expect(chosen(try load(#"{"monitor": {"rules": \#(rules)}}"#)) == [.callout, .frame])
    }

    @Test func `the rules of the strongest source replace all others`() throws {
        let file = #"{"monitor": {"rules": ["callout", "starvation", "frame"]}}"#
        let environment = ["LAGMONITOR_MONITOR_RULES": "ping, sample"]
        #expect(chosen(try load(file)) == [.callout, .starvation, .frame])
        #expect(chosen(try load(file, environment: environment)) == [.ping, .sample])
        let over = try load(file, environment: environment, commandLine: ["monitor.rules": .string("ping_while_waiting")])
        #expect(chosen(over) == [.pingWhileWaiting])
    }

    @Test func `a file sets the parameters of every rule`() throws {
        let settings = try load(
            """
            {"monitor": {"rules": ["callout", "starvation", "ping_while_waiting", "ping", "frame", "sample"],
             "interval_ms": 10, "timeouts": 4, "starvation_ms": 70, "ping_interval_ms": 20, "ping_timeouts": 5,
             "frame_rate": 30, "frame_missed": 6, "sample_interval_ms": 40, "sample_count": 7, "sample_functions": 2,
             "startup_grace_ms": 80}}
            """
        )
        var rules = StallRules()
        rules.callout = .init(interval: .milliseconds(10), timeouts: 4)
        rules.starvationThreshold = .milliseconds(70)
        rules.pingWhileWaiting = .init(interval: .milliseconds(20), timeouts: 5)
        rules.ping = rules.pingWhileWaiting
        rules.frame = .init(rate: 30, missed: 6)
        rules.sampling = .init(interval: .milliseconds(40), samples: 7, functions: 2)
        #expect(settings.monitor.rules == rules)
        #expect(settings.monitor.startupGrace == .milliseconds(80))
        #expect(settings.unusedOptions.isEmpty)
    }

    @Test func `parameters that are not set have the defaults of the library`() throws {
        let settings = try load(commandLine: ["monitor.rules": .string(RuleName.allCases.map(\.rawValue).joined(separator: ","))])
        var rules = StallRules()
        rules.pingWhileWaiting = .init()
        rules.ping = .init()
        rules.frame = .init()
        rules.sampling = .init()
        #expect(settings.monitor.rules == rules)
        #expect(settings.monitor.startupGrace == .zero)
    }

    @Test func `the preset applies only to the callout rule`() throws {
        let settings = try load(commandLine: ["monitor.preset": .string("relaxed"), "monitor.rules": .string("callout,ping")])
        #expect(settings.monitor.rules.callout?.interval == .milliseconds(80))
        #expect(settings.monitor.rules.ping?.interval == .milliseconds(50))
    }

    /// The `short` steps of the workload depend on the threshold.
    @Test func `without the callout rule the threshold is the default`() throws {
        let settings = try load(commandLine: ["monitor.rules": .string("frame"), "monitor.timeouts": .int(9)])
        #expect(settings.monitor.rules.callout == nil)
        #expect(settings.threshold == .milliseconds(150))
    }

    /// The bounds are in two places, in the settings and in the library.
    @Test func `the library accepts every value that the settings allow`() throws {
        let all = RuleName.allCases.map(\.rawValue).joined(separator: ",")
        for key in SettingKey.all where key.path.hasPrefix("monitor.") {
            guard case .wholeNumber(let range) = key.form else { continue }
            for number in [range.lowerBound, range.upperBound] {
                let settings = try load(environment: ["LAGMONITOR_MONITOR_RULES": all, key.environmentName: "\(number)"])
                #expect(throws: Never.self, "\(key.path) \(number)") { try settings.monitor.validate() }
            }
        }
    }

    private static let allowed =
        "; allowed: one or more of callout, starvation, ping_while_waiting, ping, frame, sample, with commas between them"

    @Test(
        arguments: [
            (#""""#, "the string is empty"),
            ("[]", "the list is empty"),
            (#""ping,""#, "an empty name"),
            (#"["ping", ""]"#, "an empty name"),
            (#"["pong"]"#, #"unknown name "pong""#),
            (#"["ping,frame"]"#, #"unknown name "ping,frame""#),
            (#""Ping""#, #"unknown name "Ping""#),
            (#""ping, ping""#, #""ping" is listed twice"#),
            (#"["x", 4, "ping", "ping"]"#, #"unknown name "x", 4 is not a name, "ping" is listed twice"#),
            ("true", "true is not a list of names"),
            (#"{"ping": true}"#, "an object is not a list of names"),
        ]
    )
    func `invalid rules are reported in one line with every error`(rules: String, wrong: String) {
        let file = SettingsFile(path: "F", bytes: Array(#"{"monitor": {"rules": \#(rules)}}"#.utf8))
        #expect(file.problems.map(\.description) == ["F: monitor.rules: " + wrong + Self.allowed])
    }

    @Test func `invalid rules of other sources are reported with the name of the source`() {
        let error = #expect(throws: SettingsError.self) {
            try load(
                environment: ["LAGMONITOR_MONITOR_RULES": "all"],
                commandLine: ["monitor.rules": .string(""), "monitor.starvation_ms": .int(0)]
            )
        }
        #expect(
            error?.errors.map(\.description) == [
                "option --rules: the string is empty" + Self.allowed,
                "option --starvation-ms: 0 is out of bounds; allowed: a whole number from 1 to 3600000",
                #"environment variable LAGMONITOR_MONITOR_RULES: unknown name "all""# + Self.allowed,
            ]
        )
    }

    @Test func `parameters of rules that are not chosen are checked too`() {
        #expect(throws: SettingsError.self) { try load(#"{"monitor": {"rules": "callout", "frame_rate": 0}}"#) }
    }

    @Test func `a shared file can contain the parameters of every rule`() throws {
        let file = #"{"monitor": {"rules": ["callout", "ping"], "ping_timeouts": 5, "frame_rate": 30}}"#
        #expect(try load(file).unusedOptions.isEmpty)
        #expect(try load(file, commandLine: ["monitor.rules": .string("callout")]).unusedOptions.isEmpty)
    }

    @Test func `a parameter of an unused rule is reported as without effect`() throws {
        let file = try load(#"{"monitor": {"ping_timeouts": 5}}"#).unusedOptions.map(\.description)
        #expect(file.count == 1)
        #expect(
            file.first?.hasSuffix(
                "c.json: monitor.ping_timeouts: no effect, because neither ping_while_waiting nor ping is among the rules"
            ) == true
        )
        let environment = ["LAGMONITOR_MONITOR_RULES": "ping", "LAGMONITOR_MONITOR_FRAME_RATE": "30"]
        let line = "environment variable LAGMONITOR_MONITOR_FRAME_RATE: no effect, because frame is not among the rules"
        #expect(try load(environment: environment).unusedOptions.map(\.description) == [line])
        let option = try load(#"{"monitor": {"rules": "ping"}}"#, commandLine: ["monitor.interval_ms": .int(20)])
        #expect(
            option.unusedOptions.map(\.description) == [
                "option --interval-ms: no effect, because callout is not among the rules"
            ]
        )
        // The stronger source removed the rule on purpose.
        #expect(try load(environment: environment, commandLine: ["monitor.rules": .string("ping")]).unusedOptions.isEmpty)
    }
}
