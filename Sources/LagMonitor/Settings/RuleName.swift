/// A detection rule by its name in the settings.
package enum RuleName: String, CaseIterable, Sendable {
    case callout
    case starvation
    case pingWhileWaiting = "ping_while_waiting"
    case ping
    case frame
    case sample

    /// Whether these rules include this one.
    package func isIncluded(in rules: StallRules) -> Bool {
        switch self {
        case .callout: rules.callout != nil
        case .starvation: rules.starvationThreshold != nil
        case .pingWhileWaiting: rules.pingWhileWaiting != nil
        case .ping: rules.ping != nil
        case .frame: rules.frame != nil
        case .sample: rules.sampling != nil
        }
    }

    /// The words of a list that is written as one text, with commas. Any words; ``SettingKey`` checks them.
    package static func words(in text: String) -> [String] {
        func isBlank(_ character: Character) -> Bool { character.isWhitespace && !character.isNewline }
        return text.split(separator: ",", omittingEmptySubsequences: false).map { word in
            let begun = word.drop(while: isBlank)
            let length = begun.reversed().drop(while: isBlank).count
            return String(begun.prefix(length))
        }
    }

    /// The rules of a checked list.
    package static func rules(in text: String) -> Set<RuleName> { Set(words(in: text).compactMap(RuleName.init)) }
}
