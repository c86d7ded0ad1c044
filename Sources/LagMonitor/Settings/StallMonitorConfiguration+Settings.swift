internal import LagOutput

extension StallMonitorConfiguration {
    /// The configuration that the settings choose; defaults for what they do not set.
    /// - Parameters:
    ///   - reader: all sources; their values are checked.
    ///   - overPreset: the source that names the preset, and the stronger ones. A preset sets an interval and a count: if a
    ///     stronger source names a preset, a weaker source's interval must not change it. Nil: there is one source.
    package init(_ reader: SettingsReader, overPreset: SettingsReader? = nil) {
        let overPreset = overPreset ?? reader
        self = reader.string(for: .preset).flatMap(DetectionPreset.init(rawValue:)).map { .preset($0) } ?? .init()
        rules = StallRules(reader, overPreset: overPreset, preset: rules)
        if let restore = overPreset.milliseconds(for: .restore) { restoreInterval = restore }
        if let grace = reader.milliseconds(for: .startupGrace) { startupGrace = grace }
        if let hang = reader.milliseconds(for: .hangAfter) { hangAfter = hang }
        unfinishedPath = OutputSettings.unfinishedPath(reader)
        limits = RecordLimits(reader)
        recurrence = RecurrenceRule(reader)
        // An empty variable is a list of one empty text.
        if let prefixes = reader.texts(for: .inAppPrefixes) { inAppPrefixes = prefixes.filter { !$0.isEmpty } }
        if let prefixes = reader.texts(for: .notInAppPrefixes) { notInAppPrefixes = prefixes.filter { !$0.isEmpty } }
        if let samples = reader.string(for: .samples).flatMap(Samples.init) { self.samples = samples }
        if let symbols = reader.string(for: .symbols).flatMap(Symbols.init) { self.symbols = symbols }
        if let format = reader.string(for: .format).flatMap({ RecordFormat(named: $0) }) { self.format = format }
        if let bytes = reader.int(for: .lineBytes) { maxLineBytes = bytes }
        if let frames = reader.int(for: .frames) { maxFrames = frames }
        labels = reader.labels(for: .labels)
        serviceName = reader.string(for: .serviceName)
        serviceVersion = reader.string(for: .serviceVersion)
    }
}
