internal import Foundation
internal import LagMonitor

/// A rule of detection by its name in the settings.
enum RuleName: String, CaseIterable, Sendable {
    case callout
    case starvation
    case pingWhileWaiting = "ping_while_waiting"
    case ping
    case frame
    case sample

    /// Whether these rules include this one.
    func isIncluded(in rules: StallRules) -> Bool {
        switch self {
        case .callout: rules.callout != nil
        case .starvation: rules.starvationThreshold != nil
        case .pingWhileWaiting: rules.pingWhileWaiting != nil
        case .ping: rules.ping != nil
        case .frame: rules.frame != nil
        case .sample: rules.sampling != nil
        }
    }

    /// The words of a list that is written as one text, with commas. Words may be anything: ``SettingKey`` checks them.
    static func words(in text: String) -> [String] {
        text.components(separatedBy: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// The rules of a checked list.
    static func rules(in text: String) -> Set<RuleName> { Set(words(in: text).compactMap(RuleName.init)) }
}
