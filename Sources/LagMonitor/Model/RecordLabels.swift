/// The operator's own names and values, the same in every line of a process: `team=shop`.
///
/// A name is a letter and up to 31 letters, digits, `_` or `-`: the narrowest of what Prometheus, Sentry and ECS take, but for `-`, which
/// metrics show as `_` (``metricName(_:)``). Values are 1 to 128 bytes of UTF-8 without control characters. Any thread; a value type.
package struct RecordLabels: Sendable, Hashable {
    /// Sorted by name, each name once.
    package let pairs: [Pair]

    package struct Pair: Sendable, Hashable {
        package let name: String
        package let value: String
    }

    /// Why a text is no label.
    package struct ValidationError: Error, Equatable {
        package let reason: String
    }

    package static let none = RecordLabels(unchecked: [])

    package static let maximumCount = 16
    package static let maximumNameBytes = 32
    package static let maximumValueBytes = 128
    /// Of a line of the native format the labels take no more than one part in so many, so that who is to blame always has room there. Other
    /// formats write them in more bytes.
    package static let shareOfLine = 8

    package static let allowed = """
        up to \(maximumCount) pairs name=value, with commas between them or as an object; a name is a letter and up to \
        \(maximumNameBytes - 1) letters, digits, '_' or '-', a value 1 to \(maximumValueBytes) bytes without control characters
        """

    /// Names with a meaning of their own in metrics (Prometheus's `le`, and those of our series), in profiles or in Sentry's tags; and those of
    /// which Sentry's Relay deletes a tag, as they are attributes of the event (`dist`, `filename`, `function`, `release`, `user`).
    package static let reservedNames: Set<String> = [
        "cause", "culprit", "dist", "event", "filename", "function", "kind", "le", "loop", "phase", "process", "reason",
        "release",
        "stall_id", "target", "thread", "user", "version",
    ]

    package var isEmpty: Bool { pairs.isEmpty }

    package subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    /// - Throws: ``ValidationError`` for the first label, in the order of the names, that is none.
    package init(_ values: [String: String]) throws(ValidationError) {
        guard values.count <= Self.maximumCount else { throw ValidationError(reason: "\(values.count) labels are too many") }
        var metricNames: [String: String] = [:]
        var pairs: [Pair] = []
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            if let reason = Self.validationError(name, value) { throw ValidationError(reason: reason) }
            if let other = metricNames.updateValue(name, forKey: Self.metricName(name)) {
                throw ValidationError(reason: "\"\(other)\" and \"\(name)\" are one name in metrics")
            }
            pairs.append(Pair(name: name, value: value))
        }
        self.pairs = pairs
    }

    private init(unchecked pairs: [Pair]) { self.pairs = pairs }

    /// Of a line that was read: what in it is a label, in its order by name; what is not is left out.
    package init(claimed values: [String: String]) {
        let valid = values.filter { Self.validationError($0.key, $0.value) == nil }.sorted { $0.key < $1.key }
        self.init(unchecked: valid.prefix(Self.maximumCount).map { Pair(name: $0.key, value: $0.value) })
    }

    /// What is wrong with a label, with its name; nil: nothing.
    package static func validationError(_ name: String, _ value: String) -> String? {
        guard isName(name.utf8) else { return "\"\(PlainText.sanitized(String(name.prefix(64))))\" is no name of a label" }
        if reservedNames.contains(metricName(name)) { return "the name \"\(name)\" has a meaning of its own" }
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

    /// The name in Prometheus, which knows no `-`.
    package static func metricName(_ name: String) -> String { name.replacing("-", with: "_") }

    /// What the labels take of a line of the native format.
    package var lineBytes: Int {
        guard !isEmpty else { return 0 }
        // `"labels":{` and `},`, and of each pair four quotes, a colon and a comma.
        return pairs.reduce(12) { sum, pair in
            let escapes = pair.value.utf8.count { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
            return sum + pair.name.utf8.count + pair.value.utf8.count + escapes + 6
        }
    }
}
