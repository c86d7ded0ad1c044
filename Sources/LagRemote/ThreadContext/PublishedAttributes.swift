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
        "credential", "sessionid", "sessid", "bearer", "jwt", "csrf", "xsrf", "signingkey", "encryptionkey", "connectionstring",
        "querystring",
    ]
    /// The same, of what is too short to look for within words.
    private static let sensitiveWords: Set<Substring> = ["auth", "pwd", "creds", "otp", "sid"]
    /// Whole names that are nothing but such data: the old and the new conventions.
    private static let sensitiveNames: Set<String> = ["url.query", "url.fragment", "http.query"]
    /// Attributes whose value may be a URL or the target of a request line.
    private static let urlNames: Set<String> = [
        "url.full", "url.original", "url.path", "http.url", "http.target", "http_url", "http_target",
        "http.request.header.referer", "http.request.header.location", "http.response.header.location",
    ]

    func use(of name: String) -> Use {
        // What comes after a zero byte no pattern sees.
        if Self.matches(name, excluded) || name.utf8.contains(0) { return .withheld }
        if Self.isSensitive(name), !allowed.contains(name) { return .withheld }
        return allowed.isEmpty || Self.matches(name, allowed) ? .recorded : .nameOnly
    }

    /// Whether an attribute of that name is likely a credential, or may hold one.
    static func isSensitive(_ name: String) -> Bool {
        let lower = name.lowercased()
        if sensitiveNames.contains(lower) { return true }
        // A language model's are counts (`gen_ai.usage.input_tokens`).
        if lower.hasPrefix("gen_ai."), lower.hasSuffix("_tokens") { return false }
        if lower.split(whereSeparator: { !$0.isLetter && !$0.isNumber }).contains(where: sensitiveWords.contains) { return true }
        let letters = String(lower.unicodeScalars.filter { $0.properties.isAlphabetic || ("0"..."9").contains($0) })
        return sensitiveParts.contains { letters.contains($0) }
    }

    /// The value without what a URL has besides scheme, host and path.
    static func withoutSecrets(_ value: UnsafeRawBufferPointer, of name: String) -> [UInt8] {
        let isURL = urlNames.contains(name.lowercased())
        let authorityStart = authorityStart(value, isURL: isURL)
        guard isURL || authorityStart != nil else { return Array(value) }
        var start = authorityStart ?? value.startIndex
        let prefix = value[..<start]
        if authorityStart != nil {
            let authority = value[start...].prefix { !"/?#".utf8.contains($0) }
            if let user = authority.lastIndex(of: UInt8(ascii: "@")) {
                start = user + 1
            } else if value[start...].contains(UInt8(ascii: "@")), hasPassword(authority) {
                // It has one of the characters that end a host, so its end is not known.
                return Array(prefix)
            }
        }
        return Array(prefix) + Array(value[start...].prefix { !"?#;".utf8.contains($0) })
    }

    /// Where the host of a URL begins, if one begins near the value's beginning: also in `jdbc:postgresql://host` and `GET https://host`, and in
    /// `//host` where it is to be a URL.
    private static func authorityStart(_ value: UnsafeRawBufferPointer, isURL: Bool) -> Int? {
        if isURL, value.starts(with: "//".utf8) { return 2 }
        let separator = Array("://".utf8)
        let end = min(value.count - separator.count, mostBytesBefore)
        guard end > 0 else { return nil }
        let place = (1...end).first { isOfScheme(value[$0 - 1]) && value[$0...].starts(with: separator) }
        return place.map { $0 + separator.count }
    }

    private static let mostBytesBefore = 64

    private static func isOfScheme(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || "+-.".utf8.contains(byte)
    }

    /// Whether what looks like a host with a port may be a user with a password.
    private static func hasPassword(_ host: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard let colon = host.lastIndex(of: UInt8(ascii: ":")) else { return false }
        return !host[(colon + 1)...].allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "]")
        }
    }

    private static func matches(_ name: String, _ patterns: [String]) -> Bool {
        patterns.contains { fnmatch($0, name, 0) == 0 }
    }
}
