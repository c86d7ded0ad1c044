internal import Foundation
internal import LagMonitor
internal import TestSupport
internal import Testing

@testable internal import lagmond

struct TargetSettingsTests {
    private static func file(_ text: String) -> SettingsFile { SettingsFile(path: "c.json", bytes: Array(text.utf8)) }

    private static func load(_ text: String, commandLine: [String: JSONValue] = [:]) throws -> Settings {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("targets-\(UUID().uuidString).json").path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try Settings.load(commandLine: commandLine.merging(["config": .string(path)]) { $1 }, environment: [:])
    }

    @Test func `a target overrides the settings of the file`() throws {
        let settings = try Self.load(
            """
            {"command": {"on_hang": "restart", "on_hang_after_s": 9}, "monitor": {"interval_ms": 20, "hang_after_ms": 700},
             "targets": [{"name": "a", "command": ["x", "y z"]},
                         {"name": "b", "command": ["x"], "on_hang": "signal:abrt", "monitor": {"interval_ms": 70}}]}
            """
        )
        let (a, b) = (settings.targets[0], settings.targets[1])
        #expect(a.name == "a" && a.kind == .command(["x", "y z"]) && a.monitor.serviceName == "a")
        #expect(a.policy.onHang == .restart && a.policy.onHangAfter == .seconds(9))
        #expect(a.monitor.rules.callout?.interval == .milliseconds(20) && a.monitor.hangAfter == .milliseconds(700))
        #expect(b.policy.onHang == .signal(SignalName(number: SIGABRT)) && b.policy.onHangAfter == .seconds(9))
        #expect(b.monitor.rules.callout?.interval == .milliseconds(70) && b.monitor.hangAfter == .milliseconds(700))
    }

    @Test func `the command line overrides target and file`() throws {
        let text = #"{"targets": [{"name": "a", "command": ["x"], "on_hang": "restart"}]}"#
        #expect(try Self.load(text, commandLine: ["command.on_hang": .string("report")]).targets[0].policy.onHang == .report)
    }

    @Test func `a setting without effect on a target is reported with its place`() throws {
        let settings = try Self.load(
            """
            {"monitor": {"rules": ["callout"], "starvation_ms": 300},
             "targets": [{"name": "a", "command": ["x"]}, {"name": "b", "command": ["x"], "monitor": {"starvation_ms": 500}}]}
            """
        )
        let unused = settings.unusedOptions.map(\.description)
        #expect(unused.count == 1 && unused[0].contains(".json: targets[1].monitor.starvation_ms: no effect"), "\(unused)")
    }

    @Test func `a hang time without an action is refused, unless the command line removed the action`() throws {
        func load(_ action: String, _ commandLine: [String: JSONValue] = [:]) throws -> Settings {
            let text = #"{"targets": [{"name": "a", "command": ["x"], \#(action)"on_hang_after_s": 3}]}"#
            return try Self.load(text, commandLine: commandLine)
        }
        #expect(throws: SettingsError.self) { try load("") }
        #expect(throws: SettingsError.self) { try load(#""on_hang": "report", "#) }
        #expect(throws: Never.self) { try load(#""on_hang": "restart", "#) }
        #expect(throws: Never.self) { try load(#""on_hang": "restart", "#, ["command.on_hang": .string("report")]) }
    }

    @Test(arguments: [
        (#"[]"#, "targets: the list is empty; allowed: a list of targets"),
        (#"{}"#, "targets: an object is not a list"),
        (#"[3]"#, "targets[0]: 3 is not an object; allowed: an object with name, one of command, pid, pid_file"),
        (#"[{"command": ["x"]}]"#, "targets[0].name: missing; allowed: 1 to 64 letters"),
        (#"[{"name": "a b", "command": ["x"]}]"#, "targets[0].name: \"a b\" is not a target name"),
        (#"[{"name": "a"}]"#, "targets[0]: names nothing to watch; allowed: one of command, pid, pid_file"),
        (#"[{"name": "a", "pid": 3, "pid_file": "f"}]"#, "targets[0]: has pid and pid_file"),
        (#"[{"name": "a", "pid": 0}]"#, "targets[0].pid: 0 is out of bounds; allowed: a process ID"),
        (#"[{"name": "a", "command": []}]"#, "targets[0].command: the list is empty; allowed: a list of texts"),
        (#"[{"name": "a", "command": ["x", 1]}]"#, "targets[0].command: 1 is not a string"),
        (#"[{"name": "a", "command": "x y"}]"#, "is not a list; allowed: a list of texts: the program and its arguments"),
        (
            #"[{"name": "a", "comand": ["x"]}]"#,
            "targets[0].comand: unknown key; allowed: name, command, pid, pid_file, monitor, watch, on_hang"
        ),
        (
            #"[{"name": "a", "pid": 3, "on_hang": "restart"}]"#,
            "targets[0].on_hang: without effect on a process that already runs"
        ),
        (
            #"[{"name": "a", "command": ["x"], "restart": "always"}]"#,
            "targets[0].restart: unknown name \"always\"; allowed: never, on-failure"
        ),
        (#"[{"name": "a", "command": ["x"], "monitor": {"interval": 3}}]"#, "targets[0].monitor.interval: unknown key"),
        (#"[{"name": "a", "command": ["x"]}, {"name": "a", "command": ["y"]}]"#, "targets[1].name: \"a\" is used twice"),
    ])
    func `an invalid target is reported with what is allowed`(targets: String, message: String) {
        let problems = Self.file(#"{"targets": \#(targets)}"#).problems.map(\.description)
        #expect(problems.contains { $0.contains(message) }, "\(problems)")
    }

    @Test func `the shipped targets are accepted`() {
        let folder = Repository.root
        let file = SettingsFile(path: folder.appendingPathComponent("config/targets.json").path)
        #expect(file.problems.isEmpty && !file.targets.isEmpty, "\(file.problems)")
    }

    @Test(arguments: [("TERM", 15), ("SIGTERM", 15), ("sigusr1", 10), ("34", 34), ("64", 64)])
    func `signals are given by name or number`(text: String, number: Int32) { #expect(SignalName(text)?.number == number) }

    @Test(arguments: ["", "0", "65", "-3", "FOO", "SIG"])
    func `other texts are not signal names`(text: String) { #expect(SignalName(text) == nil) }
}
