internal import TestSupport
internal import Testing

@testable internal import LagMonitor
@testable import LagWorkload
@testable internal import lagmond

/// The sources of settings, and the messages for invalid ones.
@Suite struct SettingsTests {
    private func load(
        file: String? = nil,
        environment: [String: String] = [:],
        commandLine: [String: JSONValue] = [:]
    ) throws -> Settings {
        guard let file else { return try Settings.load(commandLine: commandLine, environment: environment) }
        return try ScratchDirectory.with { directory in
            let path = directory.file("c.json")
            try directory.write(file, to: "c.json")
            let values = commandLine.merging(["config": .string(path)]) { $1 }
            return try Settings.load(commandLine: values, environment: environment)
        }
    }

    private func problems(_ file: String) -> [String] {
        SettingsFile(path: "F", bytes: Array(file.utf8)).problems.map(\.description)
    }

    @Test func `without any source all settings have their defaults`() throws {
        let settings = try load()
        #expect(settings.unusedOptions.isEmpty)
        #expect(settings.monitor.rules.callout?.interval == .milliseconds(50))
        #expect(settings.monitor.rules.callout?.timeouts == 3)
        #expect(settings.threshold == .milliseconds(150))
        #expect(settings.output == OutputSettings(.stdout))
        #expect(settings.truthPath == nil)
        #expect(settings.duration == nil)
        #expect(settings.workloadSteps.isEmpty)
    }

    @Test func `a file sets every setting`() throws {
        let settings = try load(
            file: """
                {"monitor": {"preset": "relaxed", "hang_after_ms": 700, "max_line_bytes": 4096, "max_frames": 12,
                 "restore_interval_ms": 9}, "output": {"path": "o"}, "truth": {"path": "t"},
                 "service": {"name": "n", "version": "v"}, "duration_s": 1.5,
                 "workload": {"steps": [{"kind": "cpu", "for_ms": 1, "every_ms": 2, "count": 3, "start_ms": 4}, {"kind": "hang"}]}}
                """
        )
        #expect(settings.monitor.rules.callout?.interval == .milliseconds(80))
        #expect(settings.monitor.hangAfter == .milliseconds(700))
        #expect(settings.monitor.restoreInterval == .milliseconds(9))
        #expect(settings.monitor.maxLineBytes == 4096)
        #expect(settings.monitor.maxFrames == 12)
        #expect(settings.monitor.serviceName == "n")
        #expect(settings.monitor.serviceVersion == "v")
        #expect(settings.output == OutputSettings(.file(path: "o")))
        #expect(settings.truthPath == "t")
        #expect(settings.duration == .milliseconds(1500))
        #expect(
            settings.workloadSteps == [
                WorkloadStep(kind: .cpu, forMilliseconds: 1, everyMilliseconds: 2, count: 3, startMilliseconds: 4),
                WorkloadStep(kind: .hang),
            ]
        )
    }

    @Test func `the environment overrides the file and the command line overrides both`() throws {
        let file = #"{"monitor": {"interval_ms": 10, "timeouts": 4, "hang_after_ms": 1}, "duration_s": 1}"#
        let environment = ["LAGMONITOR_MONITOR_INTERVAL_MS": "20", "LAGMONITOR_MONITOR_TIMEOUTS": "5", "PATH": "x"]
        let settings = try load(file: file, environment: environment, commandLine: ["monitor.interval_ms": .int(30)])
        #expect(settings.monitor.rules.callout?.interval == .milliseconds(30))
        #expect(settings.monitor.rules.callout?.timeouts == 5)
        #expect(settings.monitor.hangAfter == .milliseconds(1))
        #expect(settings.duration == .seconds(1))
        #expect(try load(file: file, environment: ["LAGMONITOR_DURATION_S": "2.5"]).duration == .milliseconds(2500))
    }

    @Test func `the environment can name the file`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(#"{"monitor": {"timeouts": 7}}"#, to: "c.json")
            let settings = try load(environment: ["LAGMONITOR_CONFIG": directory.file("c.json")])
            #expect(settings.monitor.rules.callout?.timeouts == 7)
        }
    }

    @Test func `a preset replaces interval and timeouts of weaker sources`() throws {
        let file = #"{"monitor": {"preset": "standard", "interval_ms": 50, "timeouts": 9, "restore_interval_ms": 0}}"#
        let overruled = try load(file: file, commandLine: ["monitor.preset": .string("restoring")])
        #expect(overruled.monitor.rules.callout?.interval == .milliseconds(50))
        #expect(overruled.monitor.rules.callout?.timeouts == 5)
        #expect(overruled.monitor.restoreInterval == .seconds(5))
        let refined = try load(
            file: file,
            environment: ["LAGMONITOR_MONITOR_PRESET": "relaxed"],
            commandLine: ["monitor.timeouts": .int(2)]
        )
        #expect(refined.monitor.rules.callout?.interval == .milliseconds(80))
        #expect(refined.monitor.rules.callout?.timeouts == 2)
    }

    @Test(
        arguments: [
            (
                #"{"monitor": {"interval_ms": "fast"}}"#,
                "monitor.interval_ms: \"fast\" is not a whole number; allowed: a whole number from 1 to 60000"
            ),
            (
                #"{"monitor": {"interval_ms": 0}}"#,
                "monitor.interval_ms: 0 is out of bounds; allowed: a whole number from 1 to 60000"
            ),
            (
                #"{"monitor": {"timeouts": 1.5}}"#,
                "monitor.timeouts: 1.5 is not a whole number; allowed: a whole number from 1 to 1000"
            ),
            (
                #"{"monitor": {"timeouts": true}}"#,
                "monitor.timeouts: true is not a whole number; allowed: a whole number from 1 to 1000"
            ),
            (
                #"{"monitor": {"preset": "quick"}}"#,
                "monitor.preset: unknown name \"quick\"; allowed: standard, relaxed, restoring"
            ),
            (
                #"{"monitor": {"speed": 1}}"#,
                "monitor.speed: unknown key; allowed: preset, rules, interval_ms, timeouts, starvation_ms, ping_interval_ms, ping_timeouts, frame_rate, frame_missed, sample_interval_ms, sample_count, sample_functions, startup_grace_ms, restore_interval_ms, hang_after_ms, limit_burst, limit_interval_ms, limit_all_burst, limit_all_interval_ms, limit_quiet_ms, recurring_count, recurring_window_s, max_line_bytes, max_frames, samples, symbols, in_app_prefixes, not_in_app_prefixes"
            ),
            (
                #"{"monitor": 3}"#,
                "monitor: 3 is not an object; allowed: an object with preset, rules, interval_ms, timeouts, starvation_ms, ping_interval_ms, ping_timeouts, frame_rate, frame_missed, sample_interval_ms, sample_count, sample_functions, startup_grace_ms, restore_interval_ms, hang_after_ms, limit_burst, limit_interval_ms, limit_all_burst, limit_all_interval_ms, limit_quiet_ms, recurring_count, recurring_window_s, max_line_bytes, max_frames, samples, symbols, in_app_prefixes, not_in_app_prefixes"
            ),
            (
                #"{"monitor.preset": "standard"}"#,
                "monitor.preset: unknown key; allowed: duration_s, output, truth, http, command, watch, monitor, labels, service, workload, targets"
            ),
            (
                #"{"config": "x"}"#,
                "config: unknown key; allowed: duration_s, output, truth, http, command, watch, monitor, labels, service, workload, targets"
            ),
            (#"{"duration_s": 0}"#, "duration_s: 0 is out of bounds; allowed: a number above 0, up to 31536000"),
            (
                #"{"output": {"path": ""}}"#,
                "output.path: the string is empty; allowed: a path or file:PATH, - or stdout, journald or journald:SOCKET, unix:SOCKET, tcp:HOST:PORT, otlp:URL"
            ),
            (#"{"workload": {"steps": {}}}"#, "workload.steps: an object is not a list; allowed: a list of steps"),
            (
                #"{"workload": {"steps": [{"kind": "idle"}, 5]}}"#,
                "workload.steps[1]: 5 is not an object; allowed: an object with kind, for_ms, every_ms, count, start_ms"
            ),
            (
                #"{"workload": {"steps": [{}]}}"#,
                "workload.steps[0].kind: missing; allowed: cpu, sleep, read, lock, io, network, child, format, hang, starve, short, idle"
            ),
            (
                #"{"workload": {"steps": [{"kind": "spin"}]}}"#,
                "workload.steps[0].kind: unknown kind \"spin\"; allowed: cpu, sleep, read, lock, io, network, child, format, hang, starve, short, idle"
            ),
            (
                #"{"workload": {"steps": [{"kind": "cpu", "for": 1}]}}"#,
                "workload.steps[0].for: unknown key; allowed: kind, for_ms, every_ms, count, start_ms"
            ),
            (
                #"{"workload": {"steps": [{"kind": "cpu", "every_ms": 0}]}}"#,
                "workload.steps[0].every_ms: 0 is out of bounds; allowed: a whole number from 1 to 86400000"
            ),
            ("[]", "the document is a list; allowed: an object"),
            ("{\n \"a\" 1}", "is not JSON: expected a colon after a member's name in line 2, column 6; allowed: a JSON object"),
        ]
    )
    func `an invalid file is reported with key, reason and what is allowed`(file: String, message: String) {
        #expect(problems(file) == ["F: " + message])
    }

    @Test func `all problems are reported at once`() {
        let lines = problems(#"{"x": 1, "duration_s": "a", "workload": {"steps": [{"kind": "cpu"}, {"kind": 1, "count": 0}]}}"#)
        #expect(
            lines.map { $0.split(separator: " ")[1] } == [
                "duration_s:", "workload.steps[1].kind:", "workload.steps[1].count:", "x:",
            ]
        )
    }

    /// Kubernetes sets these in each container of a namespace with a service whose name is, or begins with, `lagmonitor`.
    @Test(arguments: ["LAGMONITOR", "LAGMONITOR_METRICS"])
    func `variables that Kubernetes sets for a service are not settings`(service: String) throws {
        let url = "tcp://10.0.0.1:9464"
        let variables = [
            "SERVICE_HOST": "10.0.0.1", "SERVICE_PORT": "9464", "SERVICE_PORT_HTTP_METRICS": "9464", "PORT": url,
            "PORT_9464_TCP": url, "PORT_9464_TCP_PROTO": "tcp", "PORT_9464_TCP_PORT": "9464", "PORT_9464_TCP_ADDR": "10.0.0.1",
            "PORT_53_UDP": "udp://10.0.0.1:53", "PORT_53_UDP_ADDR": "10.0.0.1",
        ]
        let environment = Dictionary(uniqueKeysWithValues: variables.map { ("\(service)_\($0.key)", $0.value) })
        #expect(try load(environment: environment).unusedOptions.isEmpty)
        #expect(EnvironmentActivation().start(environment, []) { Issue.record("\($0)") } == nil)
    }

    @Test(arguments: [
        ("LAGMONITOR_PORT", "9464"), ("LAGMONITOR_PORT_TCP", ""), ("LAGMONITOR_PORT_9464_TCP_HOST", ""),
        ("LAGMONITOR_SERVICE_HOSTS", ""), ("LAGMONITOR_SERVICE", "shop"),
    ])
    func `a variable that only resembles one of a Kubernetes service is refused`(name: String, value: String) {
        #expect(throws: SettingsError.self) { try load(environment: [name: value]) }
    }

    /// The environment of a program with a monitor can contain settings for a lagmond that runs beside it.
    @Test func `a monitor ignores the settings that only lagmond has`() {
        let own = Set(SettingKey.all.map(\.environmentName))
        let monitors = Set((SettingKey.outputSettings + SettingKey.monitorSettings).map(\.environmentName))
        #expect(SettingKey.lagmondNames == own.subtracting(monitors))
        let environment = ["LAGMONITOR_HTTP_LISTEN": "9464", "LAGMONITOR_COMMAND_ON_HANG": "restart"]
        #expect(EnvironmentActivation().start(environment, []) { Issue.record("\($0)") } == nil)
        #expect(SettingValidationError.validationErrors(inEnvironment: environment, known: SettingKey.monitorSettings).isEmpty)
    }

    @Test func `an unknown variable with the prefix of the settings is refused`() {
        #expect(throws: SettingsError.self) { try load(environment: ["LAGMONITOR_INTERVALL": "1"]) }
        #expect(throws: SettingsError.self) { try load(environment: ["LAGMONITOR_WORKLOAD_STEPS": "[]"]) }
        #expect(throws: Never.self) { try load(environment: ["LAGMON": "1"]) }
    }

    @Test func `an invalid value is refused even if a stronger source overrides it`() throws {
        let error = #expect(throws: SettingsError.self) {
            try load(environment: ["LAGMONITOR_MONITOR_TIMEOUTS": "many"], commandLine: ["monitor.timeouts": .int(3)])
        }
        let message =
            "environment variable LAGMONITOR_MONITOR_TIMEOUTS: \"many\" is not a whole number; allowed: a whole number from 1 to 1000"
        #expect(error?.errors.map(\.description) == [message])
    }
}
