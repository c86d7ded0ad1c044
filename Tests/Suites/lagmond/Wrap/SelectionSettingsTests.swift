internal import Foundation
internal import LagMonitor
internal import LagRemote
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// The options `--process` and `--thread`, and the same settings in files and variables.
struct SelectionSettingsTests {
    private static func load(
        _ text: String,
        environment: [String: String] = [:],
        process: [String] = [],
        thread: [String] = []
    ) throws -> Settings {
        try ScratchDirectory.with { directory in
            try directory.write(text, to: "c.json")
            let options = SelectionOptions.values(process: process, thread: thread)
            let values = options.merging(["config": .string(directory.file("c.json"))]) { $1 }
            return try Settings.load(commandLine: values, environment: environment)
        }
    }

    @Test func `without patterns every loop is watched`() throws {
        let settings = try Self.load("{}")
        #expect(settings.selection.includesAll && settings.selection == LoopSelection())
        #expect(try settings.remoteConfiguration().selection.includesAll)
    }

    @Test func `options can be repeated or contain commas`() throws {
        let settings = try Self.load("{}", process: ["nginx, redis*", "node"], thread: ["main"])
        #expect(settings.selection == LoopSelection(processes: ["nginx", "redis*", "node"], threads: ["main"]))
        #expect(try settings.remoteConfiguration().selection == settings.selection)
    }

    @Test func `options override variables and variables override the file`() throws {
        let file = #"{"watch": {"process": ["a, b", "c"], "thread": "x,y"}}"#
        #expect(try Self.load(file).selection == LoopSelection(processes: ["a, b", "c"], threads: ["x", "y"]))
        let variables = ["LAGMONITOR_WATCH_PROCESS": "d,e", "LAGMONITOR_WATCH_THREAD": "z"]
        #expect(try Self.load(file, environment: variables).selection == LoopSelection(processes: ["d", "e"], threads: ["z"]))
        let settings = try Self.load(file, environment: variables, process: ["f"])
        #expect(settings.selection == LoopSelection(processes: ["f"], threads: ["z"]))
    }

    @Test func `a target overrides the selection of the file`() throws {
        let settings = try Self.load(
            """
            {"watch": {"process": "a", "thread": "main"},
             "targets": [{"name": "x", "command": ["x"], "watch": {"process": ["b", "c"]}}, {"name": "y", "pid": 1}]}
            """
        )
        #expect(settings.targets[0].selection == LoopSelection(processes: ["b", "c"], threads: ["main"]))
        #expect(settings.targets[1].selection == LoopSelection(processes: ["a"], threads: ["main"]))
    }

    @Test func `attributes have their own settings and options`() throws {
        let file = #"{"watch": {"attribute": "http.*", "without_attribute": ["user", "*.id"]}}"#
        let read = PublishedAttributes(allowed: ["http.*"], excluded: ["user", "*.id"])
        #expect(try Self.load(file).attributes == read)
        #expect(try Self.load(file).remoteConfiguration().attributes == read)
        let options = SelectionOptions.values(attribute: ["a,b"], withoutAttribute: ["c"])
        let settings = try Settings.load(commandLine: options, environment: ["LAGMONITOR_WATCH_ATTRIBUTE": "d"])
        #expect(settings.attributes == PublishedAttributes(allowed: ["a", "b"], excluded: ["c"]))
        #expect(throws: StartFailure.self) { try settings.rejectUnusedSettings(on: .workload) }
        let target = #"{"watch": {"attribute": "a"}, "targets": [{"name": "x", "pid": 1, "watch": {"without_attribute": "b"}}]}"#
        #expect(try Self.load(target).targets[0].attributes == PublishedAttributes(allowed: ["a"], excluded: ["b"]))
    }

    private static let allowed =
        "allowed: names, or patterns with *, ? and [], none of them empty, as a list or with commas between them"

    @Test(arguments: [
        (#"{"watch": {"process": ""}}"#, "watch.process: an empty string; "),
        (#"{"watch": {"thread": ["a", ""]}}"#, "watch.thread: an empty string; "),
        (#"{"watch": {"thread": []}}"#, "watch.thread: the list is empty; "),
        (#"{"watch": {"thread": 3}}"#, "watch.thread: 3 is not a list of strings; "),
        (#"{"targets": [{"name": "x", "pid": 1, "watch": {"thread": ",a"}}]}"#, "targets[0].watch.thread: an empty string; "),
    ])
    func `an invalid pattern is reported with what is allowed`(file: String, message: String) {
        let problems = SettingsFile(path: "F", bytes: Array(file.utf8)).problems.map(\.description)
        #expect(problems == ["F: " + message + Self.allowed])
    }

    @Test(arguments: [
        (#"{"watch": {"proces": "a"}}"#, "F: watch.proces: unknown key; allowed: process, thread, attribute, without_attribute"),
        (
            #"{"targets": [{"name": "x", "pid": 1, "watch": {"a": 1}}]}"#,
            "F: targets[0].watch.a: unknown key; allowed: process, thread, attribute, without_attribute"
        ),
        (
            #"{"targets": [{"name": "x", "pid": 1, "watch": 3}]}"#,
            "F: targets[0].watch: 3 is not an object; allowed: an object with process, thread, attribute, without_attribute"
        ),
    ])
    func `an unknown key is reported with the known ones`(file: String, message: String) {
        #expect(SettingsFile(path: "F", bytes: Array(file.utf8)).problems.map(\.description) == [message])
    }

    @Test(arguments: [["--process", ""], ["--process", "a,"], ["--process", "a", "--process", ""]])
    func `an invalid option is reported`(options: [String]) throws {
        let (status, _, errors) = try LagmondProcess.run(["run"] + options + ["--", "/bin/true"])
        #expect(status == 78 && errors == "lagmond: option --process: an empty string; \(Self.allowed)\n")
    }

    @Test func `the workload refuses a selection`() throws {
        let settings = try Self.load("{}", thread: ["main"])
        #expect(throws: StartFailure.self) { try settings.rejectUnusedSettings(on: .workload) }
        for subject in [Settings.Subject.command, .targets, .process] { try settings.rejectUnusedSettings(on: subject) }
    }

    @Test func `settings for commands are refused for a process, with what they apply to`() throws {
        let environment = ["LAGMONITOR_COMMAND_REQUIRE_WATCH": "yes", "LAGMONITOR_COMMAND_RESTART": "on-failure"]
        let settings = try Settings.load(commandLine: [:], environment: environment)
        let failure = #expect(throws: StartFailure.self) { try settings.rejectUnusedSettings(on: .process) }
        #expect(
            failure?.message == "environment variable LAGMONITOR_COMMAND_REQUIRE_WATCH: "
                + "without effect on a process that already runs (allowed: only with a command); "
                + "environment variable LAGMONITOR_COMMAND_RESTART: "
                + "without effect on a process that already runs (allowed: only with a command or with targets)"
        )
    }

    // MARK: Messages about a command

    private static func run(_ options: [String]) throws -> RunningProbe {
        try RunningProbe(
            [ProbeRun.lagmond, "run", "--output", "/dev/null"] + options + ["--", ProbeRun.probe, "epoll", "names"]
        )
    }

    @Test func `the selected loops of a command are named`() throws {
        let run = try Self.run(["--process", "Foreign*", "--thread", "worker"])
        let message = try run.complaint(containing: "watching ")
        kill(run.pid, SIGTERM)
        let end = try run.end()
        #expect(message.contains("watching worker of ForeignProbe ["))
        #expect(end.signal == SIGTERM && end.errors.contains("; watched loops: 1\n"), "\(end.errors)")
    }

    @Test func `a command without a selected loop is reported with the loops it has`() throws {
        let run = try Self.run(["--process", "redis*", "--thread", "main"])
        let message = try run.complaint(containing: "has no event loop")
        kill(run.pid, SIGTERM)
        let end = try run.end()
        #expect(message.contains("has no event loop that is selected (process redis*; thread main) after "), "\(message)")
        for name in ["main", "worker", "late", "ForeignProbe"] {
            #expect(message.contains(" \(name) of ForeignProbe ["), "\(message)")
        }
        #expect(end.errors.contains("; watched loops: 0\n") && !end.errors.contains("watching"), "\(end.errors)")
    }

    @Test func `a command that is not selected is not watched from outside`() throws {
        // The library is not loaded into a program without LD_PRELOAD.
        let run = try RunningProbe(
            [ProbeRun.lagmond, "run", "--output", "/dev/null", "--process", "redis*", "--", "/usr/bin/env", "-u", "LD_PRELOAD"]
                + [ProbeRun.probe, "epoll", "names"]
        )
        let message = try run.complaint(containing: "has no event loop")
        // After two lists of processes it would be attached to.
        usleep(6_000_000)
        kill(run.pid, SIGTERM)
        let end = try run.end()
        #expect(message.contains("left out are ForeignProbe ["), "\(message)")
        #expect(!end.errors.contains("from outside") && !end.errors.contains("not watched"), "\(end.errors)")
    }
}
