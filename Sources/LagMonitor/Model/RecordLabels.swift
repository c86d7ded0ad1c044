/// The operator's own names and values, the same in every line of a process: `team=shop`.
///
/// A name is a letter and up to 31 letters, digits, `_` or `-`: the strictest rules of Prometheus, Sentry and ECS, except for
/// `-`, which metrics show as `_` (``metricName(_:)``). Values are 1 to 128 bytes of UTF-8 without control characters. Any
/// thread; a value type.
package struct RecordLabels: Sendable, Hashable {
    /// Sorted by name, each name once.
    package let pairs: [Pair]

    package struct Pair: Sendable, Hashable {
        package let name: String
        package let value: String
    }

    /// Why a text is not a valid label.
    package struct ValidationError: Error, Equatable {
        package let reason: String
    }

    package static let none = RecordLabels(unchecked: [])

    package static let maximumCount = 16
    package static let maximumNameBytes = 32
    package static let maximumValueBytes = 128
    /// In a line of the native format the labels take at most this fraction, so that there is always space for the culprit. Other
    /// formats need more bytes for them.
    package static let shareOfLine = 8

    package static let allowed = """
        up to \(maximumCount) pairs name=value: one an option, with commas between them in a variable, or an object; \
        a name is a letter and up to \
        \(maximumNameBytes - 1) letters, digits, '_' or '-', a value 1 to \(maximumValueBytes) bytes without control characters
        """

    /// Names that already have a meaning: in metrics (Prometheus's `le`, and the names of our series), in profiles or in Sentry's
    /// tags; and names of tags that Sentry's Relay deletes because they are attributes of the event (`dist`, `filename`,
    /// `function`, `release`, `user`).
    package static let reservedNames: Set<String> = [
        "cause", "culprit", "dist", "event", "filename", "function", "kind", "le", "loop", "phase", "process", "reason",
        "release",
        "stall_id", "target", "thread", "user", "version",
    ]

    package var isEmpty: Bool { pairs.isEmpty }

    package subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    /// - Throws: ``ValidationError`` for the first invalid label, in the order of the names.
    package init(_ values: [String: String]) throws(ValidationError) {
        guard values.count <= Self.maximumCount else { throw ValidationError(reason: "\(values.count) labels are too many") }
        var metricNames: [String: String] = [:]
        var pairs: [Pair] = []
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            if let reason = Self.validationError(name, value) { throw ValidationError(reason: reason) }
            if let other = metricNames.updateValue(name, forKey: Self.metricName(name)) {
                throw ValidationError(reason: "\"\(other)\" and \"\(name)\" have the same name in metrics")
            }
            pairs.append(Pair(name: name, value: value))
        }
        self.pairs = pairs
    }

    private init(unchecked pairs: [Pair]) { self.pairs = pairs }

    /// From a line that was read: its valid labels, in the order of their names; invalid ones are left out.
    package init(claimed values: [String: String]) {
        let valid = values.filter { Self.validationError($0.key, $0.value) == nil }.sorted { $0.key < $1.key }
        self.init(unchecked: valid.prefix(Self.maximumCount).map { Pair(name: $0.key, value: $0.value) })
    }

    /// What is wrong with a label, with its name; nil if it is valid.
    package static func validationError(_ name: String, _ value: String) -> String? {
        guard isName(name.utf8) else { return "\"\(PlainText.sanitized(String(name.prefix(64))))\" is not a valid label name" }
        if reservedNames.contains(metricName(name)) { return "the name \"\(name)\" is reserved" }
        if value.isEmpty { return "the value of \"\(name)\" is empty" }
        if value.utf8.count > maximumValueBytes { return "the value of \"\(name)\" has \(value.utf8.count) bytes" }
        return value.unicodeScalars.contains(where: PlainText.isControl)
            ? "the value of \"\(name)\" contains a control character" : nil
    }

    /// Whether the bytes are a label's name.
    package static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        guard let first = bytes.first, isLetter(first), bytes.count <= maximumNameBytes else { return false }
        return bytes.allSatisfy {
            isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) }

    /// The name in Prometheus, which does not allow `-`.
    package static func metricName(_ name: String) -> String { name.replacing("-", with: "_") }

    /// How many bytes the labels take in a line of the native format.
    package var lineBytes: Int {
        guard !isEmpty else { return 0 }
        // `"labels":{` and `},`, and for each pair four quotes, a colon and a comma.
        return pairs.reduce(12) { sum, pair in
            let escapes = pair.value.utf8.count { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
            return sum + pair.name.utf8.count + pair.value.utf8.count + escapes + 6
        }
    }
}
