internal import LagOutput

extension OutputSettings.Destination {
    /// What is wrong with a text.
    struct ValidationError: Error {
        let reason: String
    }

    /// The allowed values, in words.
    static let allowed = "a path or file:PATH, - or stdout, \(elsewhere)"
    /// The same for programs that need stdout.
    static let allowedBesideStdout = "a path or file:PATH, \(elsewhere)"
    private static let elsewhere = "journald or journald:SOCKET, unix:SOCKET, tcp:HOST:PORT, otlp:URL"

    /// As written in settings.
    var text: String {
        switch self {
        case .stdout: "stdout"
        case .file(let path): "file:\(path)"
        case .journald(let path): path == DeliveryParts.journalPath ? "journald" : "journald:\(path)"
        case .stream(let address): "\(address)"
        case .otlp(let endpoint): "otlp:\(endpoint)"
        }
    }

    static func validationError(for text: String) -> String? {
        do throws(ValidationError) {
            _ = try OutputSettings.Destination(text)
            return nil
        } catch {
            return error.reason
        }
    }

    init(_ text: String) throws(ValidationError) {
        guard !text.isEmpty else { throw ValidationError(reason: "the string is empty") }
        guard !text.utf8.contains(0) else { throw ValidationError(reason: "the string contains a zero byte") }
        switch text {
        case "-", "stdout": self = .stdout
        case "stderr": throw ValidationError(reason: "messages go to stderr, lines do not (a file of that name is file:stderr)")
        case "journald": self = .journald(path: DeliveryParts.journalPath)
        default:
            guard let (scheme, rest) = Self.scheme(of: text) else {
                self = .file(path: text)
                return
            }
            self = try Self.parse(scheme, rest, text)
        }
    }

    /// The part before the first colon, if it looks like a scheme: lower-case letters only.
    private static func scheme(of text: String) -> (name: String, rest: String)? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let name = text[..<colon]
        guard !name.isEmpty, name.utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }) else { return nil }
        return (String(name), String(text[text.index(after: colon)...]))
    }

    private static func parse(_ scheme: String, _ rest: String, _ text: String) throws(ValidationError) -> Self {
        switch scheme {
        case "file":
            guard !rest.isEmpty else { throw ValidationError(reason: "\"\(text)\" names no file") }
            return .file(path: rest)
        case "journald": return .journald(path: try socket(rest, text))
        case "unix": return .stream(.unix(path: try socket(rest, text)))
        case "tcp": return .stream(try hostAndPort(rest, text))
        case "otlp":
            let host = ["http://", "https://"].first { rest.hasPrefix($0) }.map { rest.dropFirst($0.count) }
            guard let first = host?.first, first != "/", first != ":" else {
                throw ValidationError(reason: "\"\(text)\" has no http:// or https:// URL after otlp:")
            }
            return .otlp(endpoint: rest)
        default: throw ValidationError(reason: "unknown destination \"\(scheme):\" (a file of that name is file:\(text))")
        }
    }

    private static func socket(_ path: String, _ text: String) throws(ValidationError) -> String {
        guard !path.isEmpty else { throw ValidationError(reason: "\"\(text)\" names no socket") }
        let most = StreamAddress.maximumPathBytes
        guard path.utf8.count <= most else { throw ValidationError(reason: "the socket's path is longer than \(most) bytes") }
        return path
    }

    private static func hostAndPort(_ rest: String, _ text: String) throws(ValidationError) -> StreamAddress {
        guard let colon = rest.lastIndex(of: ":") else { throw ValidationError(reason: "\"\(text)\" has no port") }
        var host = rest[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw ValidationError(reason: "\"\(text)\" has no host") }
        guard isBracketed || !host.contains(":") else {
            throw ValidationError(reason: "\"\(text)\": put an IPv6 address in brackets, tcp:[::1]:6000")
        }
        let digits = rest[rest.index(after: colon)...]
        guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let port = Int(digits),
            (1...65_535).contains(port)
        else { throw ValidationError(reason: "\"\(digits)\" is not a port from 1 to 65535") }
        return .tcp(host: String(host), port: port)
    }
}
