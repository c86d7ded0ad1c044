internal import FoundationEssentials

// The parts of an endpoint.
extension OTLPSink {
    /// The destination for people and messages: without the part before the host, which may contain a password.
    static func name(of endpoint: String) -> String {
        let start = endpoint.firstRange(of: "://")?.upperBound ?? endpoint.startIndex
        let rest = endpoint[start...]
        // If it is not a URL, it is not known where the host ends.
        let authority = url(endpoint) == nil ? rest : rest.prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return "otlp:\(endpoint)" }
        return "otlp:\(endpoint[..<start])\(endpoint[endpoint.index(after: at)...])"
    }

    static func url(_ endpoint: String) -> URL? {
        guard let url = URL(string: endpoint), let scheme = url.scheme, ["http", "https"].contains(scheme),
            let host = url.host, !host.isEmpty, !endpoint.contains(where: \.isWhitespace), url.query == nil, url.fragment == nil
        else { return nil }
        var text = url.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        return URL(string: text.hasSuffix("/v1/logs") ? text : text + "/v1/logs")
    }
}
