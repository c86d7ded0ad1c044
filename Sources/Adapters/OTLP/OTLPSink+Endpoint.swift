internal import FoundationEssentials

// What requests go to, and with which headers.
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

    /// Why headers cannot be sent; nil if they can. No value is in it: that may be a secret.
    static func obstacle(in headers: [String: String]) -> String? {
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            guard isHeaderName(name) else { return "\(String(reflecting: name)) is not the name of a header" }
            guard isHeaderValue(value) else { return "the value of the header \"\(name)\" contains a control character" }
        }
        return nil
    }

    /// A token of RFC 9110, section 5.6.2.
    package static func isHeaderName(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
                    || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
    }

    /// A line end in a value would start another header.
    package static func isHeaderValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
    }
}
