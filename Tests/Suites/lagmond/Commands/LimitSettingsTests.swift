internal import LagMonitor
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// The settings that limit the number of records and what a record contains.
@Suite struct LimitSettingsTests {
    private func load(_ file: String? = nil, environment: [String: String] = [:]) throws -> StallMonitorConfiguration {
        guard let file else { return try Settings.load(commandLine: [:], environment: environment).monitor }
        return try ScratchDirectory.with { directory in
            try directory.write(file, to: "c.json")
            return try Settings.load(commandLine: ["config": .string(directory.file("c.json"))], environment: environment).monitor
        }
    }

    private func problems(_ monitor: String) -> [String] {
        SettingsFile(path: "F", bytes: Array(#"{"monitor": {\#(monitor)}}"#.utf8)).problems.map(\.description)
    }

    @Test func `a file sets all limit settings`() throws {
        let monitor = try load(
            """
            {"monitor": {"limit_burst": 2, "limit_interval_ms": 3000, "limit_all_burst": 4, "limit_all_interval_ms": 500,
             "limit_quiet_ms": 6, "recurring_count": 7, "recurring_window_s": 8, "samples": "all", "symbols": "lines",
             "in_app_prefixes": ["Shop.", "operator,", "libshop"]}}
            """
        )
        #expect(monitor.limits.perFingerprint == .init(burst: 2, interval: .seconds(3)))
        #expect(monitor.limits.overall == .init(burst: 4, interval: .milliseconds(500)))
        #expect(monitor.limits.quiet == .milliseconds(6))
        #expect(monitor.recurrence == RecurrenceRule(count: 7, window: .seconds(8)))
        #expect(monitor.samples == .all && monitor.symbols == .lines)
        #expect(monitor.inAppPrefixes == ["Shop.", "operator,", "libshop"], "a list's texts may hold commas")
    }

    /// Except for line numbers: lagmond resolves them in a child process, which the library does not start.
    @Test func `the defaults of the limit settings equal those of the library, except for symbols`() throws {
        let monitor = try load()
        var librarys = StallMonitorConfiguration()
        librarys.symbols = .lines
        #expect(monitor == librarys)
        #expect(monitor.limits.perFingerprint == .init(burst: 10, interval: .seconds(60)))
        #expect(monitor.limits.overall == .init(burst: 60, interval: .seconds(1)))
        #expect(monitor.recurrence == RecurrenceRule(count: 3, window: .seconds(600)))
        #expect(monitor.samples == .best && monitor.symbols == .lines && monitor.inAppPrefixes.isEmpty)
    }

    @Test func `zero turns a limit off`() throws {
        let monitor = try load(#"{"monitor": {"limit_burst": 0, "limit_all_burst": 0, "recurring_count": 0}}"#)
        #expect(monitor.limits.perFingerprint == nil && monitor.limits.overall == nil && monitor.recurrence == nil)
        #expect(throws: Never.self) { try monitor.validate() }
        let over = try load(#"{"monitor": {"limit_burst": 0}}"#, environment: ["LAGMONITOR_MONITOR_LIMIT_BURST": "5"])
        #expect(over.limits.perFingerprint?.burst == 5)
    }

    @Test func `the environment sets the limit settings`() throws {
        let monitor = try load(
            #"{"monitor": {"in_app_prefixes": ["Other"], "samples": "best"}}"#,
            environment: [
                "LAGMONITOR_MONITOR_IN_APP_PREFIXES": "Shop., libshop", "LAGMONITOR_MONITOR_SAMPLES": "all",
                "LAGMONITOR_MONITOR_SYMBOLS": "lines", "LAGMONITOR_MONITOR_RECURRING_WINDOW_S": "60",
                "LAGMONITOR_MONITOR_LIMIT_ALL_INTERVAL_MS": "20",
            ]
        )
        #expect(monitor.inAppPrefixes == ["Shop.", "libshop"])
        #expect(monitor.samples == .all && monitor.symbols == .lines)
        #expect(monitor.recurrence?.window == .seconds(60) && monitor.recurrence?.count == 3)
        #expect(monitor.limits.overall == .init(burst: 60, interval: .milliseconds(20)))
    }

    @Test(arguments: [(#"[]"#, []), (#""""#, []), (#""a, b""#, ["a", "b"]), (#"["a, b"]"#, ["a, b"])])
    func `prefixes are given as a list or as a text`(value: String, prefixes: [String]) throws {
        #expect(try load(#"{"monitor": {"in_app_prefixes": \#(value)}}"#).inAppPrefixes == prefixes)
    }

    @Test func `an empty variable sets no prefixes`() throws {
        let monitor = try load(
            #"{"monitor": {"in_app_prefixes": ["Other"]}}"#,
            environment: ["LAGMONITOR_MONITOR_IN_APP_PREFIXES": ""]
        )
        #expect(monitor.inAppPrefixes.isEmpty)
    }

    @Test(
        arguments: [
            (
                #""in_app_prefixes": ["a", "", 3]"#,
                "in_app_prefixes: an empty string, 3 is not a string; allowed: strings that are not empty, as a list or with commas between them"
            ),
            (
                #""in_app_prefixes": "a,,b""#,
                "in_app_prefixes: an empty string; allowed: strings that are not empty, as a list or with commas between them"
            ),
            (
                #""in_app_prefixes": true"#,
                "in_app_prefixes: true is not a list of strings; allowed: strings that are not empty, as a list or with commas between them"
            ),
            (#""samples": "some""#, #"samples: unknown name "some"; allowed: best, all"#),
            (#""symbols": 1"#, "symbols: 1 is not a name; allowed: names, lines"),
            (#""limit_burst": -1"#, "limit_burst: -1 is out of bounds; allowed: a whole number from 0 to 10000"),
            (
                #""limit_interval_ms": 0"#,
                "limit_interval_ms: 0 is out of bounds; allowed: a whole number from 1 to 86400000"
            ),
            (#""recurring_count": 21"#, "recurring_count: 21 is out of bounds; allowed: a whole number from 0 to 20"),
            (
                #""recurring_window_s": 0.5"#,
                "recurring_window_s: 0.5 is not a whole number; allowed: a whole number from 1 to 86400"
            ),
        ]
    )
    func `invalid limit settings are reported`(setting: String, message: String) {
        #expect(problems(setting) == ["F: monitor." + message])
    }
}
