/// Where settings are read from, strongest source first: their values are checked already.
package struct SettingsReader {
    private let string: (SettingKey) -> String?
    private let int: (SettingKey) -> Int?
    private let texts: (SettingKey) -> [String]?

    /// - Parameters:
    ///   - string: the text of a setting; a list of names is one text, with commas.
    ///   - int: a setting that is a whole number.
    ///   - texts: a setting that is a list of texts.
    package init(
        string: @escaping (SettingKey) -> String?,
        int: @escaping (SettingKey) -> Int?,
        texts: @escaping (SettingKey) -> [String]?
    ) {
        self.string = string
        self.int = int
        self.texts = texts
    }

    /// - Parameter values: by the key's path; as ``SettingKey/validationError(for:)`` accepts them.
    package init(_ values: [String: JSONValue]) {
        self.init(
            string: { key in
                switch values[key.path] {
                case .string(let text): text
                case .array(let words): Self.texts(words).joined(separator: ",")
                default: nil
                }
            },
            int: { key in if case .int(let int) = values[key.path] { int } else { nil } },
            texts: { key in
                switch values[key.path] {
                case .string(let text): text.isEmpty ? [] : RuleName.words(in: text)
                case .array(let texts): Self.texts(texts)
                default: nil
                }
            }
        )
    }

    private static func texts(_ values: [JSONValue]) -> [String] {
        values.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    func string(for key: SettingKey) -> String? { string(key) }
    func int(for key: SettingKey) -> Int? { int(key) }
    func texts(for key: SettingKey) -> [String]? { texts(key) }
    func milliseconds(for key: SettingKey) -> Duration? { int(key).map { .milliseconds($0) } }
}
