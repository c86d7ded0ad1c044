internal import LagModel
internal import LagReader

/// Identifies whose stall a sample is; pprof's `-tagfocus` and Grafana's label filters select by these labels. A field that the
/// line lacks gives no label. The operator's labels follow ours and cannot have the same names (``RecordLabels/reservedNames``).
struct StackLabels: Hashable, Comparable {
    /// One value per name, in the order of ``names``.
    let values: [String]
    /// The operator's labels.
    let own: RecordLabels

    static let names = ["process", "target", "cause", "culprit", "thread"]
    /// For samples whose set did not fit (``CallTree/maximumLabels``).
    static let none = StackLabels(values: names.map { _ in "" }, own: .none)

    init(_ stall: ParsedStall) {
        // A target's name is the service in its records.
        values = [stall.processName, stall.serviceName ?? "", stall.cause, stall.culprit ?? "", stall.threadName].map {
            PlainText.sanitized(Suppression.cut($0))
        }
        own = stall.labels
    }

    private init(values: [String], own: RecordLabels) {
        self.values = values
        self.own = own
    }

    /// Names and values, without those that have no value.
    var pairs: [(name: String, value: String)] {
        zip(Self.names, values).filter { !$0.1.isEmpty }.map { ($0.0, $0.1) } + own.pairs.map { ($0.name, $0.value) }
    }

    static func < (one: StackLabels, other: StackLabels) -> Bool {
        if one.values != other.values { return one.values.lexicographicallyPrecedes(other.values) }
        return one.own.pairs.lexicographicallyPrecedes(other.own.pairs) { ($0.name, $0.value) < ($1.name, $1.value) }
    }
}
