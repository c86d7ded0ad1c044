internal import Testing

@testable internal import LagRemote

/// Which parts of a published context may be written in a record.
struct PublishedAttributesTests {
    private static func value(_ text: String, of name: String) -> String {
        Array(text.utf8).withUnsafeBytes { String(decoding: PublishedAttributes.withoutSecrets($0, of: name), as: UTF8.self) }
    }

    @Test(arguments: [
        "authorization", "http.request.header.Authorization", "http.request.header.proxy-authorization", "Cookie",
        "http.response.header.set-cookie", "password", "db_password", "userPasswd", "client_secret", "access_token", "csrfToken",
        "http.request.header.x-api-key", "apiKey", "API_KEY", "aws.accessKey", "private-key", "credentials", "session.id", "jwt",
        "url.query", "auth", "db.pwd", "x-auth", "signing_key", "encryption.key", "PHPSESSID", "sid", "csrf", "otp", "creds",
        "db.connection_string",
    ])
    func `an attribute whose name suggests a credential is withheld`(name: String) {
        #expect(PublishedAttributes().use(of: name) == .withheld)
        #expect(PublishedAttributes(allowed: ["*"]).use(of: name) == .withheld)
        // An explicit name allows it.
        #expect(PublishedAttributes(allowed: [name]).use(of: name) == .recorded)
        #expect(PublishedAttributes(allowed: [name], excluded: ["*"]).use(of: name) == .withheld)
    }

    /// For fnmatch(3), the name would end at the zero byte.
    @Test func `a name with a zero byte is withheld`() {
        #expect(PublishedAttributes(allowed: ["http.*"]).use(of: "http.route\0password") == .withheld)
        #expect(PublishedAttributes().use(of: "http.route\0x") == .withheld)
    }

    @Test(arguments: [
        "http.route", "http.request.method", "http.method", "rpc.service", "rpc.method", "messaging.destination.name",
        "graphql.operation.name", "url.path", "url.template", "user", "tenant", "key", "author", "http.response.status_code",
        "gen_ai.usage.input_tokens",
    ])
    func `an attribute that names a request, or any other attribute, is recorded`(name: String) {
        #expect(PublishedAttributes().use(of: name) == .recorded)
        #expect(PublishedAttributes(allowed: ["other"]).use(of: name) == .nameOnly)
        #expect(PublishedAttributes(excluded: [name]).use(of: name) == .withheld)
    }

    @Test(arguments: [
        ("url.full", "https://anna:pw@shop.example/a/b?token=1#x", "https://shop.example/a/b"),
        ("url.full", "https://shop.example/a@b?c", "https://shop.example/a@b"),
        ("url.full", "https://u:p@w@host", "https://host"),
        ("url.full", "https://host?a=u@b", "https://host"), ("http.target", "/a?key=1", "/a"), ("http.url", "/a#b", "/a"),
        ("peer", "redis://:pw@cache:6379/0?x", "redis://cache:6379/0"), ("URL.Full", "?", ""), ("url.full", "", ""),
        ("http.route", "/users/:id?", "/users/:id?"), ("note", "what? ://a@b", "what? ://a@b"),
        ("user", "anna@shop", "anna@shop"), ("db", "jdbc:postgresql://u:pw@h/d?password=x", "jdbc:postgresql://h/d"),
        ("queue", "amqp://u:p/w@h", "amqp://"), ("cache", "redis://u:p#w@h", "redis://"),
        ("cache", "redis://u:p?w@h", "redis://"),
        ("url.full", "//u:pw@h/a", "//h/a"), ("url.full", "GET https://u:p@h/a?k", "GET https://h/a"),
        ("url.path", "/a;jsessionid=ABC", "/a"), ("url.full", "http://[::1]:80/a@b", "http://[::1]:80/a@b"),
    ])
    func `only scheme, host and path of a URL are recorded`(name: String, given: String, expected: String) {
        #expect(Self.value(given, of: name) == expected)
    }
}
