internal import LagModel

/// The labels of a setting, in any of the forms that sources use. ``RecordLabels`` decides what is a valid label.
package enum LabelPairs {
    private struct FormError: Error {
        let reason: String
    }

    /// What is wrong with a value, or nil.
    static func validationError(for value: JSONValue) -> String? {
        do throws(FormError) {
            let pairs = try pairs(of: value)
            do throws(RecordLabels.ValidationError) { _ = try RecordLabels(pairs) } catch { return error.reason }
            return nil
        } catch {
            return error.reason
        }
    }

    /// The labels of checked values; if a name appears twice, the first value counts.
    package static func merged(_ values: [JSONValue]) -> [String: String] {
        values.reduce(into: [:]) { all, value in
            if let pairs = try? pairs(of: value) { all.merge(pairs) { first, _ in first } }
        }
    }

    private static func pairs(of value: JSONValue) throws(FormError) -> [String: String] {
        switch value {
        case .object(let members):
            var pairs: [String: String] = [:]
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                guard case .string(let text) = member else {
                    throw FormError(reason: "the value of \"\(name)\" is \(member.displayText), not a string")
                }
                pairs[name] = text
            }
            return pairs
        // An empty variable is no label. A value in this form contains no comma.
        case .string(let text): return text.isEmpty ? [:] : try pairs(in: RuleName.words(in: text))
        case .array(let elements):
            var texts: [String] = []
            for element in elements {
                guard case .string(let text) = element else {
                    throw FormError(reason: "\(element.displayText) is not name=value")
                }
                texts.append(text)
            }
            return try pairs(in: texts)
        default: throw FormError(reason: "\(value.displayText) is neither an object nor a string")
        }
    }

    private static func pairs(in texts: [String]) throws(FormError) -> [String: String] {
        var pairs: [String: String] = [:]
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2 else { throw FormError(reason: "\"\(text)\" is not name=value") }
            guard pairs.updateValue(parts[1], forKey: parts[0]) == nil else {
                throw FormError(reason: "\"\(parts[0])\" is given twice")
            }
        }
        return pairs
    }
}
