#if Configuration
    public import Configuration
    public import LagMonitor

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    extension StallMonitorConfiguration {
        /// The configuration from swift-configuration's sources; defaults for what they do not set.
        ///
        /// ```swift
        /// import Configuration
        /// import LagMonitor
        /// import LagMonitorConfiguration
        ///
        /// let config = ConfigReader(provider: EnvironmentVariablesProvider()).scoped(to: "lagmonitor")
        /// let configuration = try StallMonitorConfiguration(config: config)
        /// ```
        /// The keys are those of lagmond's configuration: `monitor.preset`, `monitor.interval_ms`, `service.name`, … The values
        /// are checked as in lagmond. (A reader cannot list its sources' other keys, so an unknown key is not an error, and
        /// `labels` is one text, `team=shop,stage=prod`, or a list of such pairs. In a JSON file, `true` and `false` are read as
        /// 1 and 0 where a number is expected: the reader's values do not differ.)
        ///
        /// - Throws: ``StallMonitor/StallMonitorError/invalidConfiguration(key:value:allowed:)`` for the first value that is not allowed.
        public init(config: ConfigReader) throws(StallMonitorError) {
            self.init(try config.settings(SettingKey.monitorSettings))
            try validate()
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    extension OutputSettings {
        /// The destination of the lines from swift-configuration's sources: `output.path`, `output.max_bytes`,
        /// `output.max_files`, `output.mode`; nil if they name no path.
        ///
        /// - Throws: ``StallMonitor/StallMonitorError/invalidConfiguration(key:value:allowed:)`` for the first value that is not
        ///   allowed, or that the destination would ignore: `output.max_bytes` for a socket, `output.format` for OTLP.
        public init?(config: ConfigReader) throws(StallMonitorError) {
            let settings = try config.settings(SettingKey.outputSettings + [.format])
            if let conflict = OutputSettings.conflicts(settings).first {
                throw .invalidConfiguration(
                    key: conflict.key.path,
                    value: "set, but \(conflict.reason)",
                    allowed: conflict.allowed
                )
            }
            self.init(settings)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    extension ConfigReader {
        /// The checked values of these keys.
        fileprivate func settings(_ keys: [SettingKey]) throws(StallMonitorError) -> SettingsReader {
            var values: [String: JSONValue] = [:]
            for key in keys {
                guard let value = value(of: key) else { continue }
                if let reason = key.validationError(for: value) {
                    // A value with several parts: which one it is.
                    let shown = key.hasParts ? "\(value.displayText) (\(reason))" : value.displayText
                    throw .invalidConfiguration(key: key.path, value: shown, allowed: key.allowed)
                }
                values[key.path] = value
            }
            return SettingsReader(values)
        }

        /// The value of a key in the type that the key expects; otherwise in the type that it has.
        fileprivate func value(of key: SettingKey) -> JSONValue? {
            let name = ConfigKey(key.path)
            if case .wholeNumber = key.form, let int = int(forKey: name) { return .int(int) }
            if let text = string(forKey: name) { return key.value(of: text) }
            if let texts = stringArray(forKey: name) { return .array(texts.map(JSONValue.string)) }
            if let int = int(forKey: name) { return .int(int) }
            if let double = double(forKey: name) { return .double(double) }
            if let bool = bool(forKey: name) { return .bool(bool) }
            if let ints = intArray(forKey: name) { return .array(ints.map(JSONValue.int)) }
            return nil
        }
    }
#else
    public import LagMonitor

    extension StallMonitorConfiguration {
        @available(
            *,
            unavailable,
            message: "turn on the trait 'Configuration' of the package LagMonitor: traits: [\"Configuration\"]"
        )
        public init(config: Any) { self.init() }
    }

    extension OutputSettings {
        @available(
            *,
            unavailable,
            message: "turn on the trait 'Configuration' of the package LagMonitor: traits: [\"Configuration\"]"
        )
        public init?(config: Any) { return nil }
    }
#endif
