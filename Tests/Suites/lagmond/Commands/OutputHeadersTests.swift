internal import Testing

@testable internal import LagMonitor
@testable internal import lagmond

struct OutputHeadersTests {
    private func load(
        _ headers: String,
        output: String = "otlp:http://127.0.0.1:4318",
        environment: [String: String] = [:]
    ) throws -> Settings {
        let own = ["LAGMONITOR_OUTPUT_HEADERS": headers, "LAGMONITOR_OUTPUT_PATH": output]
        return try Settings.load(commandLine: [:], environment: own.merging(environment) { $1 })
    }

    @Test func `header pairs and variables in them are read`() throws {
        let settings = try load("authorization=Bearer ${TOKEN}, x-tenant = a=b", environment: ["TOKEN": "s3cret"])
        #expect(settings.outputHeaders == ["authorization": "Bearer s3cret", "x-tenant": "a=b"])
    }

    @Test(arguments: [
        ("a", "has no valid header name"), ("=b", "has no valid header name"), ("a b=c", "has no valid header name"),
        ("a=b,", "has no valid header name"), ("a=b,A=c", "\"A\" is given twice"),
        ("a=${NO_SUCH}", "environment variable not set: NO_SUCH"), ("a=${NO", "a ${ without a closing }"),
        ("a=${EVIL}", "contains a control character"),
    ]) func `an invalid header is refused with the reason`(headers: String, wrong: String) throws {
        let error = #expect(throws: SettingsError.self) { try load(headers, environment: ["EVIL": "b\r\nc: d"]) }
        let text = try #require(error?.errors.first).description
        #expect(text.contains("environment variable LAGMONITOR_OUTPUT_HEADERS: "))
        #expect(text.contains(wrong), "\(text)")
    }

    @Test func `a header value appears in no message`() throws {
        let error = #expect(throws: SettingsError.self) { try load("a b=s3cret") }
        #expect(error?.errors.contains { $0.description.contains("s3cret") } == false)
    }

    @Test func `headers for a destination that takes none are refused`() throws {
        let error = #expect(throws: SettingsError.self) { try load("a=b", output: "stalls.jsonl") }
        #expect(error?.errors.first?.description.contains("stalls.jsonl takes no headers") == true)
        // The default output of a command.
        let ofCommand = #expect(throws: SettingsError.self) {
            try Settings.load(commandLine: [:], environment: ["LAGMONITOR_OUTPUT_HEADERS": "a=b"], isForCommand: true)
        }
        #expect(ofCommand?.errors.first?.description.contains(": lagmond-stalls.jsonl takes no headers") == true)
        // Headers of a weaker source are ignored if their destination is overridden.
        let environment = ["LAGMONITOR_OUTPUT_HEADERS": "a=b", "LAGMONITOR_OUTPUT_PATH": "otlp:http://a"]
        let settings = try Settings.load(commandLine: ["output.path": .string("-")], environment: environment)
        #expect(settings.outputHeaders == [:])
    }
}
