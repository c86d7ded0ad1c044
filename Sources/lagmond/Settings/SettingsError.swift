internal import LagMonitor

/// Every problem found in the settings; there is at least one.
struct SettingsError: Error, Equatable {
    let errors: [SettingValidationError]
}
