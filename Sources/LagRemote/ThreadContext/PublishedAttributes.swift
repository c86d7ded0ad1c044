internal import Glibc

/// Which attributes of a context that another program publishes (OTEP 4947) may stand in a record, and what of their values.
///
/// The rule, in this order:
/// 1. An attribute whose name matches a pattern of ``excluded`` is withheld.
/// 2. One whose name sounds like a credential (``isSensitive(_:)``) is withheld, unless ``allowed`` has exactly that name, without a wildcard.
/// 3. One that matches no pattern of ``allowed`` is withheld from the attributes; the request's name is still made of it.
/// 4. Of a value that is a URL, user, password, query and fragment are cut off; `url.query` and `url.fragment` are withheld as in 2.
///
/// What 1 and 2 withhold is no part of the request's name either. Personal data under other names, such as `enduser.id`, is for the patterns: which
/// of it may be kept differs.
///
/// A plain value; any thread. Used at a stall alone: some µs an attribute.
package struct PublishedAttributes: Sendable, Equatable {
    /// Patterns (fnmatch(3)) for whole names; empty: all.
    package let allowed: [String]
    /// Patterns (fnmatch(3)) for whole names.
    package let excluded: [String]

    package init(allowed: [String] = [], excluded: [String] = []) {
        self.allowed = allowed
        self.excluded = excluded
    }

    /// What is done with an attribute.
    enum Use: Equatable {
        case withheld
        /// The request may be called by it, and it is no attribute of the record.
        case nameOnly
        case recorded
    }

    /// Parts of names, without what separates words and in lower case: `X-Api-Key` and `apiKey` are both `apikey`.
    private static let sensitiveParts = [
        "authorization", "cookie", "password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey",
        "credential", "sessionid", "bearer", "jwt",
    ]
    /// Whole names that are nothing but such data: the old and the new conventions.
    private static let sensitiveNames: Set<String> = ["url.query", "url.fragment", "auth", "pwd"]
    /// Attributes whose value may be a URL or the target of a request line.
    private static let urlNames: Set<String> = [
        "url.full", "url.original", "url.path", "http.url", "http.target", "http_url", "http_target",
        "http.request.header.referer", "http.request.header.location", "http.response.header.location",
    ]

    func use(of name: String) -> Use {
        if Self.matches(name, excluded) { return .withheld }
        if Self.isSensitive(name), !allowed.contains(name) { return .withheld }
        return allowed.isEmpty || Self.matches(name, allowed) ? .recorded : .nameOnly
    }

    /// Whether an attribute of that name is likely a credential, or may hold one.
    static func isSensitive(_ name: String) -> Bool {
        let lower = name.lowercased()
        if sensitiveNames.contains(lower) { return true }
        let letters = String(lower.unicodeScalars.filter { $0.properties.isAlphabetic || ("0"..."9").contains($0) })
        return sensitiveParts.contains { letters.contains($0) }
    }

    /// The value without what a URL has besides scheme, host and path.
    static func withoutSecrets(_ value: UnsafeRawBufferPointer, of name: String) -> [UInt8] {
        let lower = name.lowercased()
        let schemeEnd = schemeEnd(value)
        guard schemeEnd != nil || urlNames.contains(lower) else { return Array(value) }
        let end = value.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? value.endIndex
        guard let schemeEnd, schemeEnd <= end else { return Array(value[..<end]) }
        let rest = value[schemeEnd..<end]
        let host = rest.prefix { $0 != UInt8(ascii: "/") }
        guard let at = host.lastIndex(of: UInt8(ascii: "@")) else { return Array(value[..<end]) }
        return Array(value[..<schemeEnd]) + Array(rest[(at + 1)...])
    }

    /// Where the host of `scheme://host` begins, if that is what the value begins with.
    private static func schemeEnd(_ value: UnsafeRawBufferPointer) -> Int? {
        let scheme = value.prefix { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
        }
        let separator = Array("://".utf8)
        guard !scheme.isEmpty, value[scheme.endIndex...].starts(with: separator) else { return nil }
        return scheme.endIndex + separator.count
    }

    private static func matches(_ name: String, _ patterns: [String]) -> Bool {
        patterns.contains { fnmatch($0, name, 0) == 0 }
    }
}
