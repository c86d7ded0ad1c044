internal import TestSupport
internal import Testing

@testable internal import lagmond

struct CheckTests {
    @Test func `valid lines pass without a report`() throws {
        let (status, output, errors) = try LagmondProcess.run(
            ["check", "a"],
            files: ["a": StallLines.line(1) + "\n" + StallLines.line(2)]
        )
        #expect(status == 0)
        #expect(output == "")
        #expect(errors == "lagmond: 2 lines, none damaged\n")
    }

    @Test func `damaged lines are reported with file and line number, and reading continues`() throws {
        let text = StallLines.line(1) + "no\n \r\n" + StallLines.line(2, phase: "over") + StallLines.line(3).prefix(50)
        let (status, output, errors) = try LagmondProcess.run(["check", "a", "b"], files: ["a": text, "b": "{}\n"])
        #expect(status == 1)
        let expected = """
            a:2: not a JSON object: expected an object at byte 1
            a:4: phase is "over"; allowed: begin, end, abandoned
            a:5: not a JSON object: unterminated string at byte 51 (last line, without a newline: truncated?)
            b:1: event is missing

            """
        #expect(output == expected, "\(output)")
        #expect(errors == "lagmond: 5 lines, 4 damaged\n")
    }

    @Test func `the limit option bounds the number of reported lines`() throws {
        let (status, output, errors) = try LagmondProcess.run(["check", "--limit", "2", "a"], files: ["a": "1\n2\n3\n4\n5\n"])
        #expect(status == 1)
        #expect(output.split(separator: "\n").count == 2)
        #expect(errors == "lagmond: a: further damaged lines: 3\nlagmond: 5 lines, 5 damaged\n")
    }

    @Test func `a missing file has its own exit status`() throws {
        let (status, _, errors) = try LagmondProcess.run(["check", "gone", "a"], files: ["a": StallLines.line(1)])
        #expect(status == 66)
        #expect(errors == "lagmond: cannot open gone: No such file or directory\nlagmond: 1 line, none damaged\n")
    }

    /// Includes lagmond's own notices.
    @Test func `the lines that a run writes pass the check`() throws {
        let steps =
            #"{"kind": "sleep", "for_ms": 200, "every_ms": 300, "count": 5}, {"kind": "lock", "for_ms": 300, "start_ms": 1600}"#
        let configuration =
            #"{"monitor": {"samples": "all", "limit_burst": 2, "limit_quiet_ms": 1000}, "workload": {"steps": [\#(steps)]}}"#
        try ScratchDirectory.with { directory in
            try directory.write(configuration, to: "c.json")
            let run = try LagmondProcess(["--config", "c.json", "--duration", "3", "--output", "lines"], in: directory)
            #expect(run.wait() == 0, "\(run.errors)")
            let lines = directory.read("lines")
            #expect(lines.contains("sample_tree"))
            let check = try LagmondProcess(["check", "lines"], in: directory)
            #expect(check.wait() == 0, "\(check.output)")
        }
    }
}
