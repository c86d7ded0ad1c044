/// The values of settings that have been checked.
package struct SettingsReader {
    private let values: [String: JSONValue]

    /// - Parameter values: by the key's path; ``SettingKey/validationError(for:)`` has accepted them.
    package init(_ values: [String: JSONValue]) { self.values = values }

    /// The text of a setting; a list of names is one text, with commas.
    func string(for key: SettingKey) -> String? {
        switch values[key.path] {
        case .string(let text): text
        case .array(let words): Self.texts(words).joined(separator: ",")
        default: nil
        }
    }

    func int(for key: SettingKey) -> Int? { if case .int(let int) = values[key.path] { int } else { nil } }

    func milliseconds(for key: SettingKey) -> Duration? { int(for: key).map { .milliseconds($0) } }

    /// A setting that is a list of texts; one text may hold several, with commas.
    package func texts(for key: SettingKey) -> [String]? {
        switch values[key.path] {
        case .string(let text): text.isEmpty ? [] : RuleName.words(in: text)
        case .array(let texts): Self.texts(texts)
        default: nil
        }
    }

    /// A setting that is an object of labels.
    func labels(for key: SettingKey) -> [String: String] { values[key.path].map { LabelPairs.merged([$0]) } ?? [:] }

    private static func texts(_ values: [JSONValue]) -> [String] {
        values.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }
}
