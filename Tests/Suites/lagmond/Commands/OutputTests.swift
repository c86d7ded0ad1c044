internal import Foundation
import Glibc
internal import LagMonitor
internal import LagMonitorDelivery
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// The destinations and formats of lagmond's lines.
@Suite(.serialized) struct OutputTests {
    private static let stall = #"{"workload": {"steps": [{"kind": "sleep", "for_ms": 250, "start_ms": 50}]}, "duration_s": 0.8}"#

    private func run(_ arguments: [String], in directory: ScratchDirectory) throws {
        try directory.write(Self.stall, to: "c.json")
        let lagmond = try LagmondProcess(["--config", "c.json"] + arguments, in: directory)
        #expect(lagmond.wait() == 0, "\(lagmond.errors)")
    }

    private func object(_ text: String) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    @Test(arguments: [("native", "schema"), ("otlp", "resourceLogs"), ("ecs", "@timestamp"), ("sentry", "event_id")])
    func `the output is available in every format`(format: String, first: String) throws {
        try ScratchDirectory.with { directory in
            try run(["--output", "file:o", "--format", format], in: directory)
            let lines = withoutRunqueue(directory.read("o").split(separator: "\n"))
            #expect(lines.count == 1)
            let line = String(lines.first ?? "")
            #expect(line.hasPrefix("{\"\(first)\":") && line.contains("LagWorkload.sleepUntil"), "\(line)")
            #expect(line.utf8.count < 8000)
            _ = try object(line)
        }
    }

    @Test func `the reader of a Unix socket gets the line`() throws {
        try ScratchDirectory.with { directory in
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            defer { close(descriptor) }
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: directory.file("s").utf8) }
            let bound = withUnsafePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(bound == 0 && listen(descriptor, 1) == 0)
            try run(["--output", "unix:s"], in: directory)
            let connection = accept(descriptor, nil, nil)
            try #require(connection >= 0)
            let text = String(
                decoding: FileHandle(fileDescriptor: connection, closeOnDealloc: true).readDataToEndOfFile(),
                as: UTF8.self
            )
            #expect(text.hasSuffix("}\n"))
            let lines = withoutRunqueue(text.split(separator: "\n"))
            #expect(lines.count == 1)
            #expect(try object(String(lines.first ?? ""))["cause"] as? String == "syscall")
        }
    }

    /// If the reader is not there, only the line is lost.
    @Test(arguments: ["unix:nobody", "tcp:127.0.0.1:1", "otlp:http://127.0.0.1:1"])
    func `lines for a reader that is not there are counted as dropped`(output: String) throws {
        try ScratchDirectory.with { directory in
            try directory.write(Self.stall, to: "c.json")
            let lagmond = try LagmondProcess(["--config", "c.json", "--output", output], in: directory)
            #expect(lagmond.wait() == 0)
            let counts = try #require(lagmond.errors.firstMatch(of: /stalls=([0-9]+) reported=0 dropped=([0-9]+)/)?.output)
            // The stall of the workload and those that a busy machine adds: all are lost.
            #expect(counts.1 != "0" && counts.2 == counts.1, "\(lagmond.errors)")
        }
    }

    @Test func `rotated files are numbered`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(
                #"{"output": {"path": "o", "max_bytes": 4096, "max_files": 1}, "duration_s": 2.5,"#
                    + #""workload": {"steps": [{"kind": "sleep", "for_ms": 200, "every_ms": 400}]}}"#,
                to: "c.json"
            )
            let lagmond = try LagmondProcess(["--config", "c.json"], in: directory)
            #expect(lagmond.wait() == 0)
            #expect(!directory.read("o").isEmpty && !directory.read("o.1").isEmpty)
            #expect(directory.read("o.2").isEmpty)
        }
    }

    @Test func `a file can give the output as one text`() {
        let short = SettingsFile(path: "F", bytes: Array(#"{"output": "journald"}"#.utf8))
        #expect(short.problems.isEmpty && short.values["output.path"] == .string("journald"))
        let wrong = SettingsFile(path: "F", bytes: Array(#"{"output": "udp:x"}"#.utf8)).problems.map(\.description)
        #expect(wrong.count == 1 && wrong[0].hasPrefix("F: output: unknown destination \"udp:\""))
        let unknown = SettingsFile(path: "F", bytes: Array(#"{"output": {"size": 1}}"#.utf8)).problems.map(\.description)
        #expect(
            unknown == [
                "F: output.size: unknown key; allowed: path, max_bytes, max_files, mode, spool_path, spool_max_bytes, unfinished_path, headers, format"
            ]
        )
    }

    @Test func `a setting without effect is refused and its source is named`() throws {
        func problems(_ commandLine: [String: JSONValue], _ environment: [String: String] = [:]) -> [String] {
            let error = #expect(throws: SettingsError.self) {
                try Settings.load(commandLine: commandLine, environment: environment)
            }
            return error?.errors.map(\.description) ?? []
        }
        let file = "allowed: only if output.path is a file"
        #expect(problems(["output.max_bytes": .int(5000)]) == ["option --max-bytes: - is not a file and is not rotated; \(file)"])
        #expect(
            problems([:], ["LAGMONITOR_OUTPUT_PATH": "unix:s", "LAGMONITOR_OUTPUT_MAX_FILES": "2"])
                == ["environment variable LAGMONITOR_OUTPUT_MAX_FILES: unix:s is not a file and is not rotated; \(file)"]
        )
        #expect(
            problems(["output.path": .string("x"), "output.max_files": .int(2)])
                == ["option --max-files: without output.max_bytes no file is ever renamed; allowed: only with output.max_bytes"]
        )
        #expect(
            problems([:], ["LAGMONITOR_OUTPUT_PATH": "journald", "LAGMONITOR_OUTPUT_MODE": "0640"])
                == ["environment variable LAGMONITOR_OUTPUT_MODE: journald is not a file; \(file)"]
        )
        #expect(
            problems([:], ["LAGMONITOR_OUTPUT_PATH": "x", "LAGMONITOR_OUTPUT_MODE": "0666"])
                == ["environment variable LAGMONITOR_OUTPUT_MODE: unknown name \"0666\"; allowed: 0600, 0640, 0644"]
        )
        let network = "allowed: only if output.path is unix:SOCKET, tcp:HOST:PORT or otlp:URL"
        #expect(problems(["output.spool_path": .string("/s")]) == ["option --spool: lines for - are not kept; \(network)"])
        #expect(
            problems(["output.path": .string("otlp:http://h"), "output.format": .string("ecs")])
                == ["option --format: otlp:http://h does not accept lines of format ecs; allowed: otlp"]
        )
    }

    @Test(arguments: [(nil, 0o600), ("0600", 0o600), ("0640", 0o640), ("0644", 0o644)] as [(String?, mode_t)])
    func `the mode setting sets the permissions of the output file`(mode: String?, expected: mode_t) throws {
        try ScratchDirectory.with { directory in
            var values = ["output.path": JSONValue.string(directory.file("o")), "output.max_bytes": .int(4096)]
            values["output.mode"] = mode.map(JSONValue.string)
            let sink = try #require(try OutputSettings(SettingsReader(values))?.makeSink())
            let line = Array(String(repeating: "x", count: 2999).utf8) + [10]
            for _ in 0..<2 { try line.withUnsafeBytes { try sink.write($0) } }
            for name in ["o", "o.1"] {
                var status = stat()
                #expect(stat(directory.file(name), &status) == 0 && status.st_mode & 0o777 == expected)
            }
        }
    }

    @Test func `size settings apply to the default file of commands`() throws {
        let sizes = ["output.max_bytes": JSONValue.int(5000), "output.max_files": .int(2)]
        let settings = try Settings.load(commandLine: sizes, environment: [:], isForCommand: true)
        let rotation = try FileRotation(maxBytes: 5000, maxFiles: 2)
        #expect(!settings.choosesOutput && settings.defaultRotation == rotation)
        try ScratchDirectory.with { directory in
            let sink = LazyFileSink(path: directory.file("s"), rotation: rotation)
            let line = Array(String(repeating: "x", count: 2999).utf8) + [10]
            for _ in 0..<2 { try line.withUnsafeBytes { try sink.write($0) } }
            #expect(directory.read("s").utf8.count == 3000 && directory.read("s.1").utf8.count == 3000)
        }
    }

    @Test func `options override the configuration file`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(#"{"output": {"path": "a", "format": "ecs", "max_bytes": 5000}}"#, to: "c.json")
            let settings = try Settings.load(
                commandLine: ["config": .string(directory.file("c.json")), "output.path": .string("tcp:h:1")],
                environment: ["LAGMONITOR_OUTPUT_FORMAT": "sentry", "LAGMONITOR_OUTPUT_MAX_FILES": "7"]
            )
            #expect(settings.output.destination == .stream(.tcp(host: "h", port: 1)))
            #expect(settings.output.rotation == nil, "which was for the file")
            #expect(settings.monitor.format == .sentry)
        }
    }
}
