#if Configuration
    import Configuration
    import LagMonitor
    import LagMonitorConfiguration
    import LagMonitorDelivery
    import Testing

    @Suite struct ConfigReaderTests {
        private func environment(_ variables: [String: String]) -> ConfigReader {
            ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables))
        }

        @Test func `without values the defaults apply`() throws {
            #expect(try StallMonitorConfiguration(config: environment([:])) == StallMonitorConfiguration())
        }

        @Test func `the keys are the same as for lagmond`() throws {
            let config = environment([
                "LAGMONITOR_MONITOR_PRESET": "restoring", "LAGMONITOR_MONITOR_INTERVAL_MS": "20",
                "LAGMONITOR_MONITOR_RULES": "callout, ping", "LAGMONITOR_MONITOR_LIMIT_BURST": "0",
                "LAGMONITOR_MONITOR_IN_APP_PREFIXES": "Shop,Cart", "LAGMONITOR_SERVICE_NAME": "shop",
            ])
            let configuration = try StallMonitorConfiguration(config: config.scoped(to: "lagmonitor"))
            #expect(configuration.rules.callout == .init(interval: .milliseconds(20), timeouts: 5))
            #expect(configuration.rules.ping == .init() && configuration.rules.starvationThreshold == nil)
            #expect(configuration.restoreInterval == .seconds(5))
            #expect(configuration.limits.perFingerprint == nil && configuration.inAppPrefixes == ["Shop", "Cart"])
            #expect(configuration.serviceName == "shop")
        }

        @Test func `typed sources are read`() throws {
            let provider = InMemoryProvider(values: [
                "monitor.timeouts": 4, "monitor.rules": ConfigValue(.stringArray(["callout", "frame"]), isSecret: false),
            ])
            let configuration = try StallMonitorConfiguration(config: ConfigReader(provider: provider))
            #expect(configuration.rules.callout?.timeouts == 4 && configuration.rules.frame == .init())
        }

        @Test(arguments: [
            ("MONITOR_INTERVAL_MS", "fast", "monitor.interval_ms is \"fast\", allowed is a whole number from 1 to 60000"),
            ("MONITOR_TIMEOUTS", "0", "monitor.timeouts is 0, allowed is a whole number from 1 to 1000"),
            ("MONITOR_PRESET", "quick", "monitor.preset is \"quick\", allowed is standard, relaxed, restoring"),
        ])
        func `an invalid value is reported with its key`(name: String, value: String, message: String) {
            let error = #expect(throws: StallMonitorError.self) {
                try StallMonitorConfiguration(config: environment([name: value]))
            }
            #expect(error?.description == message)
        }

        @Test func `the output settings can be read too`() throws {
            #expect(try OutputSettings(config: environment([:])) == nil)
            let config = environment([
                "OUTPUT_PATH": "/x", "OUTPUT_MAX_BYTES": "5000", "OUTPUT_FORMAT": "ecs",
            ])
            let output = try OutputSettings(config: config)
            #expect(output?.destination == .file(path: "/x"))
            #expect(output?.rotation == (try FileRotation(maxBytes: 5000)))
            #expect(try StallMonitorConfiguration(config: config).format == .ecs)
            let error = #expect(throws: StallMonitorError.self) {
                try OutputSettings(config: environment(["OUTPUT_PATH": "udp:x"]))
            }
            #expect(error?.description.hasPrefix("output.path is \"udp:x\", allowed is a path or file:PATH") == true)
        }

        @Test(arguments: [
            (["OUTPUT_PATH": "journald", "OUTPUT_MAX_BYTES": "5000"], "output.max_bytes is set, but journald is not a file"),
            (["OUTPUT_PATH": "x", "OUTPUT_MAX_FILES": "5"], "output.max_files is set, but without output.max_bytes"),
            (
                ["OUTPUT_PATH": "otlp:http://h", "OUTPUT_FORMAT": "ecs"],
                "output.format is set, but otlp:http://h does not accept lines of format ecs, allowed is otlp"
            ),
        ])
        func `a setting that the destination would ignore is reported`(variables: [String: String], message: String) {
            let error = #expect(throws: StallMonitorError.self) { try OutputSettings(config: environment(variables)) }
            #expect(error?.description.hasPrefix(message) == true, "\(String(describing: error))")
        }

        @Test(arguments: [
            (
                "MONITOR_RULES", "ping,spin",
                "monitor.rules is \"ping,spin\" (unknown name \"spin\"), allowed is one or more of callout"
            ),
            ("LABELS", "loop=x", "labels is \"loop=x\" (the name \"loop\" is reserved), allowed is up to 16 pairs"),
        ])
        func `the wrong part of a list is reported`(name: String, value: String, message: String) {
            let error = #expect(throws: StallMonitorError.self) {
                try StallMonitorConfiguration(config: environment([name: value]))
            }
            #expect(error?.description.hasPrefix(message) == true, "\(String(describing: error))")
        }

        @Test func `a value of the wrong type is reported with its key`() {
            let config = ConfigReader(provider: InMemoryProvider(values: ["monitor.interval_ms": 1.5]))
            let error = #expect(throws: StallMonitorError.self) { try StallMonitorConfiguration(config: config) }
            #expect(error?.description == "monitor.interval_ms is 1.5, allowed is a whole number from 1 to 60000")
        }
    }
#endif
