/// A URL template for traces: `https://tempo.example/trace/{trace_id}`.
enum TraceLink {
    private static let schemes = ["https://", "http://"]
    private static let maximumBytes = 500

    /// Why a template is invalid; nil: valid. Other schemes are not allowed, because a link in the page must not run anything.
    static func problem(_ template: String) -> String? {
        guard schemes.contains(where: { template.lowercased().hasPrefix($0) }) else {
            return "must begin with https:// or http://"
        }
        guard template.contains("{trace_id}") else { return "has no {trace_id} in it" }
        guard template.utf8.count <= maximumBytes else { return "has \(template.utf8.count) bytes; allowed: \(maximumBytes)" }
        return nil
    }
}
