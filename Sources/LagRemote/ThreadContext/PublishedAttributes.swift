internal import Glibc

/// Decides which attributes of another program's published context (OTEP 4947) may be in a record, and which part of their
/// values.
///
/// The rule, in this order:
/// 1. An attribute whose name matches a pattern of ``excluded`` is withheld.
/// 2. An attribute whose name looks like a credential (``isSensitive(_:)``) is withheld, unless ``allowed`` has exactly that
///    name, without a wildcard.
/// 3. An attribute that matches no pattern of ``allowed`` is not recorded, but the request's name may still use it.
/// 4. From a URL, user, password, query and fragment are removed; `url.query` and `url.fragment` are withheld as in 2.
///
/// Attributes withheld by 1 and 2 are not part of the request's name either. Personal data under other names, such as
/// `enduser.id`, must be excluded with patterns, because what may be kept differs.
///
/// A plain value; any thread. Only used at a stall: some µs per attribute.
package struct PublishedAttributes: Sendable, Equatable {
    /// Patterns (fnmatch(3)) for whole names; empty: all.
    package let allowed: [String]
    /// Patterns (fnmatch(3)) for whole names.
    package let excluded: [String]

    package init(allowed: [String] = [], excluded: [String] = []) {
        self.allowed = allowed
        self.excluded = excluded
    }

    /// The treatment of an attribute.
    enum Use: Equatable {
        case withheld
        /// The request's name may use it, but it is not an attribute of the record.
        case nameOnly
        case recorded
    }

    /// Parts of names, in lower case without word separators: `X-Api-Key` and `apiKey` are both `apikey`.
    private static let sensitiveParts = [
        "authorization", "cookie", "password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey",
        "credential", "sessionid", "sessid", "bearer", "jwt", "csrf", "xsrf", "signingkey", "encryptionkey", "connectionstring",
        "querystring",
    ]
    /// The same, for words that are too short to search within words.
    private static let sensitiveWords: Set<Substring> = ["auth", "pwd", "creds", "otp", "sid"]
    /// Whole names whose values are such data, by the old and the new conventions.
    private static let sensitiveNames: Set<String> = ["url.query", "url.fragment", "http.query"]
    /// Attributes whose value may be a URL or the target of a request line.
    private static let urlNames: Set<String> = [
        "url.full", "url.original", "url.path", "http.url", "http.target", "http_url", "http_target",
        "http.request.header.referer", "http.request.header.location", "http.response.header.location",
    ]

    func use(of name: String) -> Use {
        // Patterns do not see text after a zero byte.
        if Self.matches(name, excluded) || name.utf8.contains(0) { return .withheld }
        if Self.isSensitive(name), !allowed.contains(name) { return .withheld }
        return allowed.isEmpty || Self.matches(name, allowed) ? .recorded : .nameOnly
    }

    /// Whether an attribute of that name is likely a credential, or may contain one.
    static func isSensitive(_ name: String) -> Bool {
        let lower = name.lowercased()
        if sensitiveNames.contains(lower) { return true }
        // The tokens of a language model are counts (`gen_ai.usage.input_tokens`).
        if lower.hasPrefix("gen_ai."), lower.hasSuffix("_tokens") { return false }
        if lower.split(whereSeparator: { !$0.isLetter && !$0.isNumber }).contains(where: sensitiveWords.contains) { return true }
        let letters = String(lower.unicodeScalars.filter { $0.properties.isAlphabetic || ("0"..."9").contains($0) })
        return sensitiveParts.contains { letters.contains($0) }
    }

    /// The value with only scheme, host and path of a URL.
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
                // It contains a character that ends a host, so its end is not known.
                return Array(prefix)
            }
        }
        return Array(prefix) + Array(value[start...].prefix { !"?#;".utf8.contains($0) })
    }

    /// Where the host of a URL begins, if there is one near the value's beginning: also in `jdbc:postgresql://host` and `GET
    /// https://host`, and in `//host` if the value should be a URL.
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

    /// Whether an apparent host with a port may be a user with a password.
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
