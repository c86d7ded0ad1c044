extension StallRules {
    /// The rules that the settings choose, with their parameters.
    ///
    /// - Parameters:
    ///   - reader: all sources; their values are checked.
    ///   - overPreset: the sources that may refine the preset.
    ///   - preset: its rules, which apply if no source chooses any.
    init(_ reader: SettingsReader, overPreset: SettingsReader, preset: StallRules) {
        let names =
            reader.string(for: .rules).map(RuleName.rules) ?? Set(RuleName.allCases.filter { $0.isIncluded(in: preset) })
        self = .empty
        for name in names {
            switch name {
            case .callout: callout = overPreset.timeouts(.interval, .timeouts, else: preset.callout ?? Timeouts())
            case .starvation:
                starvationThreshold = reader.milliseconds(for: .starvation) ?? StallRules().starvationThreshold
            case .pingWhileWaiting: pingWhileWaiting = reader.timeouts(.pingInterval, .pingTimeouts, else: Timeouts())
            case .ping: ping = reader.timeouts(.pingInterval, .pingTimeouts, else: Timeouts())
            case .frame: frame = reader.frameTicks()
            case .sample: sampling = reader.stackSampling()
            }
        }
    }
}

extension SettingsReader {
    fileprivate func timeouts(_ interval: SettingKey, _ timeouts: SettingKey, else standard: StallRules.Timeouts)
        -> StallRules.Timeouts
    {
        var rule = standard
        if let interval = milliseconds(for: interval) { rule.interval = interval }
        if let timeouts = int(for: timeouts) { rule.timeouts = timeouts }
        return rule
    }

    fileprivate func frameTicks() -> StallRules.FrameTicks {
        var rule = StallRules.FrameTicks()
        if let rate = int(for: .frameRate) { rule.rate = rate }
        if let missed = int(for: .frameMissed) { rule.missed = missed }
        return rule
    }

    fileprivate func stackSampling() -> StallRules.StackSampling {
        var rule = StallRules.StackSampling()
        if let interval = milliseconds(for: .sampleInterval) { rule.interval = interval }
        if let samples = int(for: .sampleCount) { rule.samples = samples }
        if let functions = int(for: .sampleFunctions) { rule.functions = functions }
        return rule
    }
}
