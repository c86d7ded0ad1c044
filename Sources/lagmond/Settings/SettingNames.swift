internal import LagMonitor

/// The names of settings in messages, as the user wrote them: an option, a variable or a key of a file.
struct SettingNames: Sendable {
    private let locations: [String: String]

    /// - Parameter locations: by the key's path.
    init(_ locations: [String: String] = [:]) { self.locations = locations }

    subscript(_ key: SettingKey) -> String { locations[key.path] ?? key.path }
}
