/// The two formats of `/metrics`.
enum MetricsFormat: Sendable, CaseIterable {
    /// The text format of Prometheus, version 0.0.4.
    case prometheus
    /// OpenMetrics 1.0, which has exemplars.
    case openMetrics

    var contentType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// The format that a client prefers by its `Accept` headers (RFC 9110, 12.5.1). OpenMetrics must be named: a wildcard gets
    /// the older format.
    init(accepting headers: [String]) {
        var (openMetrics, text) = (0, 0)
        for range in headers.flatMap({ $0.split(separator: ",") }) {
            let parts = range.split(separator: ";").map { $0.trimming().lowercased() }
            var (quality, isKnown) = (1000, true)
            for part in parts.dropFirst() {
                if part.hasPrefix("q=") { quality = Self.thousandths(part.dropFirst(2)) }
                if part.hasPrefix("version=") { isKnown = ["1.0.0", "\"1.0.0\""].contains(part.dropFirst(8)) }
            }
            switch parts.first {
            case "application/openmetrics-text" where isKnown: openMetrics = max(openMetrics, quality)
            case "text/plain": text = max(text, quality)
            default: break
            }
        }
        self = openMetrics > 0 && openMetrics >= text ? .openMetrics : .prometheus
    }

    /// A quality, `0` to `1` with at most three fractional digits; 0 if invalid.
    private static func thousandths(_ text: Substring) -> Int {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, whole == "0" || whole == "1" else { return 0 }
        let digits = parts.count > 1 ? parts[1] : ""
        guard digits.count <= 3, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return 0 }
        let fraction = Int(digits + String(repeating: "0", count: 3 - digits.count)) ?? 0
        return min(1000, (whole == "1" ? 1000 : 0) + fraction)
    }
}

extension Substring {
    fileprivate func trimming() -> Substring {
        let rest = drop { $0 == " " || $0 == "\t" }
        let end = rest.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { rest[...$0] } ?? ""
    }
}
