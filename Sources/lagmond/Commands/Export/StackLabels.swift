internal import LagModel
internal import LagReader

/// Whose stall a sample is: what pprof's `-tagfocus` and Grafana's label filters choose by. Text that a line does not have is no label.
struct StackLabels: Hashable, Comparable {
    /// By name, in this order. The same sample of one thread has one set.
    let values: [String]

    static let names = ["process", "target", "cause", "culprit", "thread"]
    /// For samples whose set found no place (``CallTree/maximumLabels``).
    static let none = StackLabels(values: names.map { _ in "" })

    init(_ stall: ParsedStall) {
        // A target's name is the service in its records.
        values = [stall.processName, stall.serviceName ?? "", stall.cause, stall.culprit ?? "", stall.threadName].map {
            PlainText.sanitized(Suppression.cut($0))
        }
    }

    private init(values: [String]) { self.values = values }

    /// Names and values, those without a value left out.
    var pairs: [(name: String, value: String)] { zip(Self.names, values).filter { !$0.1.isEmpty }.map { ($0.0, $0.1) } }

    static func < (one: StackLabels, other: StackLabels) -> Bool { one.values.lexicographicallyPrecedes(other.values) }
}
