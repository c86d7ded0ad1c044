internal import LagMonitorOTLP

/// `output.headers`: the headers of every request to an `otlp:` destination, as `name=value,name=value` (the form of
/// `OTEL_EXPORTER_OTLP_HEADERS`).
///
/// `${NAME}` in a value is replaced by that environment variable, so that a secret need not be in a file.
struct OutputHeaders: Equatable {
    static let allowed = "name=value pairs with commas between them; ${NAME} in a value is that variable of the environment"

    /// By name.
    let fields: [String: String]

    struct ValidationError: Error, Equatable {
        let reason: String
    }

    init(_ text: String, environment: [String: String]) throws(ValidationError) {
        var fields: [String: String] = [:]
        for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = Self.trimmed(parts[0])
            // Not shown: the text may be a secret.
            guard parts.count == 2, OTLPSink.isHeaderName(name) else {
                throw ValidationError(reason: "a pair has no valid header name")
            }
            guard fields.keys.allSatisfy({ $0.lowercased() != name.lowercased() }) else {
                throw ValidationError(reason: "\"\(name)\" is given twice")
            }
            let value = try Self.expanded(Self.trimmed(parts[1]), environment)
            guard OTLPSink.isHeaderValue(value) else {
                throw ValidationError(reason: "the value of \"\(name)\" contains a control character")
            }
            fields[name] = value
        }
        self.fields = fields
    }

    /// Checks the syntax; the variables are not expanded.
    static func validationError(for text: String) -> String? {
        do throws(ValidationError) {
            _ = try OutputHeaders(text.replacing("${", with: "{"), environment: [:])
            return nil
        } catch {
            return error.reason
        }
    }

    private static func expanded(_ text: String, _ environment: [String: String]) throws(ValidationError) -> String {
        var value = ""
        var rest = text[...]
        while let start = rest.firstRange(of: "${") {
            value += rest[..<start.lowerBound]
            guard let end = rest[start.upperBound...].firstIndex(of: "}") else {
                throw ValidationError(reason: "a ${ without a closing }")
            }
            let name = String(rest[start.upperBound..<end])
            guard let content = environment[name] else {
                throw ValidationError(reason: "environment variable not set: \(name)")
            }
            value += content
            rest = rest[rest.index(after: end)...]
        }
        return value + rest
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}
