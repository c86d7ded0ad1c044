internal import Configuration
internal import LagMonitor

// What a run of lagmond has besides the monitor's settings.
extension SettingKey {
    static let config = SettingKey("config", .file, option: "--config", inFile: false)
    static let duration = SettingKey("duration_s", .positiveNumber(upTo: 31_536_000), option: "--duration")
    static let truth = SettingKey("truth.path", .file, option: "--truth")

    static let listen = SettingKey(
        "http.listen",
        .understood(allowed: ListenAddress.allowed, objection: ListenAddress.objection),
        option: "--listen"
    )

    /// No option: everybody can read a command line.
    static let headers = SettingKey(
        "output.headers",
        .understood(allowed: OutputHeaders.allowed, objection: OutputHeaders.objection)
    )

    static let all = [config, duration] + outputSettings + [headers, truth, listen] + monitorSettings

    /// An accepted value as swift-configuration carries it: its in-memory provider converts nothing.
    func content(_ value: JSONValue) -> ConfigContent? {
        switch (form, value) {
        case (.positiveNumber, .int(let int)): .double(Double(int))
        // A port alone.
        case (.understood, .int(let int)): .string("\(int)")
        case (_, .int(let int)): .int(int)
        case (_, .double(let double)): .double(double)
        case (.texts, .string(let text)): .stringArray(text.isEmpty ? [] : RuleName.words(in: text))
        case (.texts, .array(let texts)):
            .stringArray(texts.compactMap { if case .string(let text) = $0 { text } else { nil } })
        case (_, .string(let string)): .string(string)
        case (.names, .array(let words)):
            .string(words.compactMap { if case .string(let word) = $0 { word } else { nil } }.joined(separator: ","))
        default: nil
        }
    }
}
