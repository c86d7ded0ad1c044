import LagMonitorDelivery
import LagOutput
import Testing

@testable import LagMonitor

@Suite struct OutputSettingsTests {
    @Test(arguments: [
        ("-", OutputSettings.Destination.stdout), ("stdout", .stdout), ("/var/log/x", .file(path: "/var/log/x")),
        ("x", .file(path: "x")),
        ("file:/var/log/x", .file(path: "/var/log/x")), ("file:stdout", .file(path: "stdout")),
        ("./tcp:1:2", .file(path: "./tcp:1:2")),
        ("A:b", .file(path: "A:b")), ("journald", .journald(path: "/run/systemd/journal/socket")),
        ("journald:/tmp/j", .journald(path: "/tmp/j")), ("unix:/run/x.sock", .stream(.unix(path: "/run/x.sock"))),
        ("tcp:127.0.0.1:6000", .stream(.tcp(host: "127.0.0.1", port: 6000))),
        ("tcp:[::1]:6000", .stream(.tcp(host: "::1", port: 6000))), ("tcp:logs:1", .stream(.tcp(host: "logs", port: 1))),
        ("otlp:http://127.0.0.1:4318", .otlp(endpoint: "http://127.0.0.1:4318")),
        ("otlp:https://c/x", .otlp(endpoint: "https://c/x")),
    ])
    func `a text names a destination`(text: String, destination: OutputSettings.Destination) throws {
        #expect(try OutputSettings(text) == OutputSettings(destination))
        #expect(SettingKey.output.validationError(for: .string(text)) == nil)
    }

    @Test(arguments: [
        ("", "the string is empty"), ("a\0b", "the string contains a zero byte"), ("file:", "\"file:\" names no file"),
        ("unix:", "\"unix:\" names no socket"), ("journald:", "\"journald:\" names no socket"),
        ("unix:/" + String(repeating: "x", count: 107), "the socket's path is longer than 107 bytes"),
        ("tcp:host", "\"tcp:host\" has no port"), ("tcp::6000", "\"tcp::6000\" has no host"),
        ("tcp:host:", "\"\" is not a port from 1 to 65535"), ("tcp:host:0", "\"0\" is not a port from 1 to 65535"),
        ("tcp:host:65536", "\"65536\" is not a port from 1 to 65535"), ("tcp:host:+1", "\"+1\" is not a port from 1 to 65535"),
        ("tcp:::1:6000", "\"tcp:::1:6000\": put an IPv6 address in brackets, tcp:[::1]:6000"),
        ("otlp:127.0.0.1:4318", "\"otlp:127.0.0.1:4318\" has no http:// or https:// URL after otlp:"),
        ("otlp:http://", "\"otlp:http://\" has no http:// or https:// URL after otlp:"),
        ("udp:h:1", "unknown destination \"udp:\" (a file of that name is file:udp:h:1)"),
        ("http://h", "unknown destination \"http:\" (a file of that name is file:http://h)"),
    ])
    func `an invalid destination is refused with the reason`(text: String, wrong: String) {
        #expect(SettingKey.output.validationError(for: .string(text)) == wrong)
        let error = #expect(throws: StallMonitorError.self) { try OutputSettings(text) }
        let allowed = "a path or file:PATH, - or stdout, journald or journald:SOCKET, unix:SOCKET, tcp:HOST:PORT, otlp:URL"
        #expect(error?.description == "output.path is not valid: \(wrong), allowed is \(allowed)")
    }

    @Test func `size settings configure a rotation`() throws {
        let path = JSONValue.string("/x")
        func settings(_ values: [String: JSONValue]) -> OutputSettings? { OutputSettings(SettingsReader(values)) }
        #expect(settings([:]) == nil)
        #expect(settings(["output.path": path])?.rotation == nil)
        let five = try FileRotation(maxBytes: 5000, maxFiles: 5)
        #expect(settings(["output.path": path, "output.max_bytes": .int(5000)])?.rotation == five)
        let two = try FileRotation(maxBytes: 5000, maxFiles: 2)
        #expect(settings(["output.path": path, "output.max_bytes": .int(5000), "output.max_files": .int(2)])?.rotation == two)
    }

    @Test func `only files are rotated`() throws {
        let rotation = try FileRotation(maxBytes: 5000)
        #expect(throws: StallMonitorError.self) { try OutputSettings(.stdout, rotation: rotation) }
        #expect(throws: StallMonitorError.self) { try OutputSettings("journald", rotation: rotation) }
        #expect(try OutputSettings("/x", rotation: rotation).rotation == rotation)
        var settings = OutputSettings(.stdout)
        settings.rotation = rotation
        let error = #expect(throws: SinkError.self) { try settings.makeSink() }
        #expect(error?.reason == .cannotOpen && error?.code == 22)
    }

    @Test func `the spool settings apply to a stream, not to a file`() throws {
        let reader = SettingsReader([
            "output.path": .string("tcp:127.0.0.1:9"), "output.spool_path": .string("/s"), "output.spool_max_bytes": .int(70_000),
        ])
        var settings = try #require(OutputSettings(reader))
        #expect(settings.spool == SpoolSettings(folder: "/s", maxBytes: 70_000))
        // A lower-priority source's settings for streams do not apply to a file.
        settings = try #require(
            OutputSettings(SettingsReader(["output.path": .string("x"), "output.spool_path": .string("/s")]))
        )
        #expect(settings.spool == nil)
        settings.spool = SpoolSettings(folder: "/s")
        #expect(throws: SinkError.self) { try settings.makeSink() }
    }

    @Test(arguments: [
        (["PATH": "x", "MAX_FILES": "2"], ["MAX_FILES: without output.max_bytes no file is ever renamed"]),
        (["PATH": "-", "MAX_BYTES": "5000"], ["MAX_BYTES: - is not a file and is not rotated"]),
        (
            ["PATH": "tcp:h:1", "MAX_BYTES": "5000", "MAX_FILES": "2"],
            ["MAX_BYTES: tcp:h:1 is not a file and is not rotated", "MAX_FILES: tcp:h:1 is not a file and is not rotated"]
        ),
        (["PATH": "x", "SPOOL_PATH": "/s"], ["SPOOL_PATH: lines for x are not kept"]),
        (["PATH": "tcp:h:1", "SPOOL_MAX_BYTES": "100000"], ["SPOOL_MAX_BYTES: without output.spool_path no line is kept"]),
    ])
    func `a setting that would have no effect is refused`(variables: [String: String], wrong: [String]) {
        var errors: [String] = []
        let variables = Dictionary(uniqueKeysWithValues: variables.map { ("LAGMONITOR_OUTPUT_\($0)", $1) })
        #expect(EnvironmentActivation().start(variables, []) { errors.append($0) } == nil)
        #expect(errors.count == wrong.count)
        for (error, wrong) in zip(errors, wrong) { #expect(error.contains("LAGMONITOR_OUTPUT_\(wrong)")) }
    }

    @Test func `the format is a setting of the monitor`() {
        let reader = SettingsReader(["output.format": .string("ecs")])
        #expect(StallMonitorConfiguration(reader).format == .ecs)
        #expect(SettingKey.format.validationError(for: .string("xml")) == "unknown name \"xml\"")
        #expect(SettingKey.format.allowed == "native, otlp, ecs, sentry")
    }

    @Test(arguments: ["tcp:127.0.0.1:9", "unix:/run/x", "journald", "journald:/run/j"])
    func `a socket is refused without the product that delivers to it`(text: String) throws {
        let settings = try OutputSettings(text)
        let error = #expect(throws: SinkError.self) { try settings.makeSink(delivery: nil) }
        #expect(error?.description == "cannot open \(text): it needs Delivery.enable() of the product LagMonitorDelivery")
    }

    @Test func `a format is refused without the product that provides it`() throws {
        var configuration = StallMonitorConfiguration()
        // Other tests enable the product in this process: this is a format that no product has.
        configuration.format = RecordFormat("other", nil, RecordFormat.native.lateField)
        let monitor = StallMonitor(configuration: configuration)
        let error = #expect(throws: StallMonitorError.self) { try monitor.start() }
        #expect(
            error?.description
                == "format is other, allowed is native; others after Delivery.enable() of the product LagMonitorDelivery"
        )
    }

    @Test func `a format is available if its product is enabled after the settings were read`() throws {
        let read = try #require(RecordFormat(named: "ecs", from: nil))
        #expect(!read.isAvailable)
        Delivery.enable()
        #expect(read.current.isAvailable && read.current == .ecs)
    }

    @Test func `an enabled product provides all formats and sinks that settings may name`() throws {
        Delivery.enable()
        #expect(RecordFormat.all.map(\.name) == RecordFormat.names)
        for name in RecordFormat.names {
            let format = try #require(RecordFormat(named: name))
            #expect(format.isAvailable && format.name == name)
        }
        #expect(RecordFormat(named: "xml") == nil)
        #expect(try OutputSettings("tcp:127.0.0.1:9").makeSink() is StreamSink)
    }

    /// The core has no HTTP client.
    @Test func `an OTLP destination needs a sink that the program provides`() throws {
        let settings = try OutputSettings("otlp:http://127.0.0.1:1")
        let error = #expect(throws: SinkError.self) { try settings.makeSink() }
        #expect(error?.description == "cannot open otlp:http://127.0.0.1:1: it needs OTLPSink of the product LagMonitorOTLP")
        let memory = MemorySink()
        #expect(try settings.makeSink { _ in memory } === memory)
    }

    @Test func `the environment cannot choose an OTLP destination`() {
        var errors: [String] = []
        let variables = ["LAGMONITOR_OUTPUT_PATH": "otlp:http://127.0.0.1:1"]
        #expect(EnvironmentActivation().start(variables, []) { errors.append($0) } == nil)
        #expect(
            errors.count == 1
                && errors[0].contains("LAGMONITOR_OUTPUT_PATH: otlp:http://127.0.0.1:1 needs a sink of LagMonitorOTLP")
        )
    }
}
