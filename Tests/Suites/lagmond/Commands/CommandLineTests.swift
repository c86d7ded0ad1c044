internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// What the program reports before it starts to run.
@Suite(.serialized) struct CommandLineTests {
    @Test func `an invalid configuration file is refused with one line before anything starts`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(#"{"workload": {"steps": [{"kind": "cpu"}, {"kind": "spin"}]}}"#, to: "c.json")
            let lagmond = try LagmondProcess(["--config", "c.json", "--output", "o", "--truth", "t"], in: directory)
            #expect(lagmond.wait() == 78)
            let kinds = "cpu, sleep, read, lock, io, network, child, format, hang, starve, short, idle"
            #expect(lagmond.errors == "lagmond: c.json: workload.steps[1].kind: unknown kind \"spin\"; allowed: \(kinds)\n")
            #expect(lagmond.output == "")
            #expect(directory.read("o") == "")
            #expect(directory.read("t") == "")
        }
    }

    @Test func `help for an unknown command is a usage error`() throws {
        let (status, output, errors) = try LagmondProcess.run(["help", "foo"])
        #expect(status == 64 && output == "")
        #expect(
            errors
                == "lagmond: help: foo: not a command of lagmond (allowed: run, attach, top, check, report, export, symbolize, schema)\n"
        )
        let known = try LagmondProcess.run(["help", "top"])
        #expect(known.0 == 0 && known.1.contains("--limit"))
        let general = try LagmondProcess.run(["help"])
        #expect(general.0 == 0 && general.1.contains("--on-hang-after") && general.1.contains("attach"))
    }

    @Test(arguments: [["--config", "missing.json"], ["run", "--config", "missing.json"]])
    func `a missing configuration file is refused`(arguments: [String]) throws {
        let (status, output, errors) = try LagmondProcess.run(arguments)
        #expect(status == 78)
        #expect(output == "")
        #expect(
            errors
                == "lagmond: missing.json: cannot be read: No such file or directory; allowed: a readable file with a JSON object\n"
        )
    }

    @Test(
        arguments: [
            ("12", [12]), ("31041 31036", [31041, 31036]), ("1,2, 3\n", [1, 2, 3]), ("", nil), ("12 x", nil), (",", nil),
        ] as [(String, [Int32]?)]
    )
    func `process IDs are accepted as pidof prints them`(text: String, numbers: [Int32]?) {
        #expect(ProcessIDs(argument: text)?.numbers == numbers)
    }

    @Test func `an invalid environment variable is refused`() throws {
        let (status, _, errors) = try LagmondProcess.run(["--duration", "1"], environment: ["LAGMONITOR_MONITOR_PRESET": "x"])
        #expect(status == 78)
        #expect(
            errors
                == "lagmond: environment variable LAGMONITOR_MONITOR_PRESET: unknown name \"x\"; allowed: standard, relaxed, restoring\n"
        )
    }

    @Test(
        arguments: [
            ("--interval-ms", "0", "0 is out of bounds; allowed: a whole number from 1 to 60000"),
            ("--duration", "soon", #""soon" is not a number; allowed: a number above 0, up to 31536000"#),
        ]
    )
    func `an invalid option value is refused`(option: String, value: String, why: String) throws {
        let (status, _, errors) = try LagmondProcess.run([option, value])
        #expect(status == 78)
        #expect(errors == "lagmond: option \(option): \(why)\n")
    }

    /// Opening a pipe can wait for its other end forever, and lagmond could not exit in order.
    @Test(arguments: [("--truth", Int32(73)), ("--output", 73), ("--config", 78)])
    func `a pipe without a reader is refused`(option: String, expected: Int32) throws {
        try ScratchDirectory.with { directory in
            #expect(mkfifo(directory.file("pipe"), 0o600) == 0)
            let lagmond = try LagmondProcess([option, "pipe", "--duration", "1"], in: directory)
            #expect(lagmond.wait() == expected, "\(lagmond.errors)")
            #expect(lagmond.errors.contains("a pipe without a reader") == (option != "--config"), "\(lagmond.errors)")
        }
    }

    @Test(arguments: [["--bogus"], ["walk"], ["--config"]])
    func `an invalid command line is a usage error`(arguments: [String]) throws {
        let (status, output, errors) = try LagmondProcess.run(arguments)
        #expect(status == 64)
        #expect(output == "")
        #expect(errors.contains("Usage: lagmond"))
        #expect(errors.contains("lagmond run -- walk") == (arguments == ["walk"]))
    }

    @Test(
        arguments: [
            (["redis-server", "--port", "1"], "lagmond run -- redis-server --port 1"),
            (["run", "top", "-b"], "lagmond run -- top -b"), (["top", "--bogus"], nil), (["--bogus"], nil),
            (["--output", "x", "--", "a"], nil),
        ] as [([String], String?)]
    )
    func `a command given without the two dashes gets a hint with the right command line`(arguments: [String], line: String?) {
        let hint = Lagmond.forgottenDashes(arguments)
        #expect(hint?.components(separatedBy: "a program: ").last == line, "\(hint ?? "")")
    }

    @Test(
        arguments: [
            (["run", "--output", "x", "--", "echo", "1", "--", "2"], ["run", "--output", "x", "--", "echo"]),
            (["--", "echo", "1"], ["--", "echo"]),
            (["run", "--"], ["run", "--"]), (["top", "--", "a", "b"], ["top", "--", "a", "b"]), ([], []),
        ] as [([String], [String])]
    )
    func `the arguments of a command that is run are not parsed`(arguments: [String], expected: [String]) {
        #expect(Lagmond.partToParse(arguments) == expected)
    }

    @Test func `a negative number is read as a value and refused as out of bounds`() throws {
        let (status, _, errors) = try LagmondProcess.run(["--duration", "-5"])
        #expect(status == 78)
        #expect(errors == "lagmond: option --duration: -5 is out of bounds; allowed: a number above 0, up to 31536000\n")
    }

    @Test(arguments: ["--output", "--truth"])
    func `a file that cannot be opened is reported with path and reason`(option: String) throws {
        let (status, output, errors) = try LagmondProcess.run([option, "/nowhere/file", "--duration", "1"])
        #expect(status == 73)
        #expect(output == "")
        #expect(errors.contains("cannot open /nowhere/file: No such file or directory"))
        #expect(errors.split(separator: "\n").count == 1)
    }

    @Test func `a closed stdout is reported as an output that cannot be opened`() throws {
        try ScratchDirectory.with { directory in
            let shell = Process()
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            shell.arguments = ["-c", "exec \"$0\" --duration 1 >&- 2>err", LagmondProcess.binary.path]
            shell.currentDirectoryURL = URL(fileURLWithPath: directory.path)
            try shell.run()
            shell.waitUntilExit()
            #expect(shell.terminationStatus == 73)
            #expect(directory.read("err").contains("cannot open stdout"))
        }
    }

    @Test func `help and version go to stdout`() throws {
        let help = try LagmondProcess.run(["--help"])
        #expect(help.status == 0)
        for option in ["--config", "--duration", "--output", "--truth", "--preset", "--version"] {
            #expect(help.output.contains(option))
        }
        let version = try LagmondProcess.run(["--version"])
        #expect(version.status == 0)
        #expect(version.output == Lagmond.version + "\n")
    }
}
