internal import Glibc
package import LagModel

/// Which stalls are wanted, by the names in their lines: shell patterns (fnmatch(3)) for whole names, and the operator's labels. A stall is
/// wanted where each field that has patterns matches one of its, and where the line has all of the labels; a line that does not have
/// the field is not.
package struct StallFilter: Sendable {
    private let rules: [(field: StallField, patterns: [String])]
    private let labels: RecordLabels

    /// - Parameters:
    ///   - patterns: fields without patterns leave nothing out.
    ///   - labels: by name and exact value; none leave nothing out.
    package init(_ patterns: KeyValuePairs<StallField, [String]> = [:], labels: RecordLabels = .none) {
        self.labels = labels
        rules = patterns.filter { !$0.value.isEmpty }.map { ($0.key, $0.value) }
    }

    /// Whether the line that was scanned last is wanted. Some 0.1 µs a pattern.
    package func includes(_ line: borrowing LineScanner) -> Bool {
        for rule in rules {
            guard let name = line.text(rule.field), rule.patterns.contains(where: { fnmatch($0, name, 0) == 0 }) else {
                return false
            }
        }
        return line.has(labels)
    }
}
