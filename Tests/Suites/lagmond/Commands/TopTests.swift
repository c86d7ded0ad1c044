internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import lagmond

struct TopTests {
    private let lines =
        StallLines.line(1) + StallLines.line(2, phase: "begin", milliseconds: "5000.000")
        + StallLines.line(2, milliseconds: "6000.000") + StallLines.line(2, milliseconds: "6000.000")
        + StallLines.line(3, milliseconds: "300.000", fingerprint: "v1:0000000000000001", host: "web-2", culprit: "App.compute")
        + StallLines.line(4, phase: "begin", milliseconds: "5000.000", fingerprint: "v1:0000000000000002", culprit: "App.hang")

    @Test func `groups are ranked by their total time`() throws {
        let (status, output, errors) = try LagmondProcess.run(["top", "a"], files: ["a": lines])
        #expect(status == 0)
        #expect(errors == "")
        let expected = """
            4 stalls, 11.7 s in all; 3 groups by fingerprint
            count  held   total     p50     p99   worst  hosts  last seen             cause  open  process  service  fingerprint          culprit
                2         6.4 s  400 ms     6 s     6 s      1  2026-11-21T18:07:56Z  lock         server            v1:6648237ade8e460d  App.acquire
                1           5 s     5 s     5 s     5 s      1  2026-11-21T18:07:56Z  lock      1  server            v1:0000000000000002  App.hang
                1        300 ms  300 ms  300 ms  300 ms      1  2026-11-21T18:07:56Z  lock         server            v1:0000000000000001  App.compute

            """
        #expect(output == expected, "\(output)")
    }

    @Test func `a single stall and group are written in the singular`() throws {
        let (_, output, _) = try LagmondProcess.run(["top", "a"], files: ["a": StallLines.line(1)])
        #expect(output.hasPrefix("1 stall, 400 ms in all; 1 group by fingerprint\n"), "\(output)")
    }

    @Test func `the sum of all groups does not overflow`() throws {
        let huge =
            StallLines.line(1, milliseconds: "9300000000000.000")
            + StallLines.line(2, milliseconds: "9300000000000.000", fingerprint: "v1:0000000000000001")
        let (status, output, _) = try LagmondProcess.run(["top", "a"], files: ["a": huge])
        #expect(status == 0 && output.hasPrefix("2 stalls, 213504 d"), "\(output)")
    }

    @Test func `JSON output has one object per group`() throws {
        let (_, output, _) = try LagmondProcess.run(["top", "--json", "--limit", "1", "--by", "host", "a"], files: ["a": lines])
        let group = try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
        #expect(group["host_name"] as? String == "web-1")
        #expect(group["count"] as? Int == 3)
        #expect(group["open"] as? Int == 1)
        #expect(group["total_ms"] as? Double == 11400)
        #expect(group["worst_ms"] as? Double == 6000)
        #expect(group["causes"] as? [String: Int] == ["lock": 3])
        #expect(group["last_seen"] as? String == "2026-11-21T18:07:56.654Z")
    }

    @Test(arguments: [200, 120, 80, 60, 40])
    func `no line is wider than the terminal`(width: Int) throws {
        let (status, output, errors) = try LagmondProcess.run(
            ["top", "a"],
            files: ["a": lines + StallLines.line(9, culprit: String(repeating: "App.Long", count: 20))],
            environment: ["COLUMNS": "\(width)"]
        )
        #expect(status == 0 && errors == "")
        let lines = output.split(separator: "\n")
        #expect(lines.count == 5 && lines.allSatisfy { $0.count <= width }, "\(output)")
        // These columns are never omitted.
        for title in ["count", "total", "worst", "culprit"] { #expect(lines[1].contains(title), "\(output)") }
        #expect(output.contains("…"), "\(output)")
    }

    @Test func `empty columns are omitted first, wide ones next, and then names are cut`() {
        func column(_ title: String, _ cell: String, _ dispensability: Int?, _ canBeCut: Bool = false) -> TextTable.Column {
            TextTable.Column(title: title, dispensability: dispensability, canBeCut: canBeCut, cells: [cell])
        }
        let columns = [
            column("a", "1", nil), column("empty", "", 1), column("wide", String(repeating: "x", count: 30), 2),
            column("name", String(repeating: "n", count: 40), nil, true),
        ]
        let (x, n) = (String(repeating: "x", count: 30), String(repeating: "n", count: 40))
        let space = String(repeating: " ", count: 28)
        #expect(TextTable(columns, width: nil).lines == ["a  empty  wide\(space)name", "1         \(x)  \(n)"])
        #expect(TextTable(columns, width: 75).lines == ["a  wide\(space)name", "1  \(x)  \(n)"])
        #expect(TextTable(columns, width: 70).lines == ["a  wide\(space)name", "1  \(x)  \(n.prefix(34))…"])
        #expect(TextTable(columns, width: 30).lines == ["a  name", "1  \(n.prefix(26))…"])
        #expect(TextTable(columns, width: 10).lines == ["a  name", "1  \(n.prefix(6))…"])
    }

    @Test(arguments: [
        (["--process", "serv?r"], "4 stalls"), (["--process", "redis"], "0 stalls"), (["--host", "web-2"], "1 stall,"),
        (["--cause", "lock", "--loop", "m*"], "4 stalls"), (["--service", "*"], "0 stalls"),
    ])
    func `filters select the counted stalls`(options: [String], expected: String) throws {
        let (status, output, _) = try LagmondProcess.run(["top"] + options + ["a"], files: ["a": lines])
        #expect(status == 0 && output.hasPrefix(expected), "\(output)")
    }

    @Test(arguments: ["process", "service", "target"])
    func `stalls can be grouped by process, service and target`(by: String) throws {
        let named = lines + StallLines.line(7, more: #","service_name":"cache""#)
        let (status, output, _) = try LagmondProcess.run(["top", "--json", "--by", by, "a"], files: ["a": named])
        let groups = output.split(separator: "\n")
        #expect(status == 0 && groups.count == (by == "process" ? 1 : 2), "\(output)")
        #expect(groups.contains { $0.contains(by == "process" ? #""process_name":"server""# : #""service_name":"cache""#) })
    }

    @Test func `several files, gzip files and stdin are read together`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(StallLines.line(1), to: "a")
            try directory.write(StallLines.line(2), to: "b")
            let script = "gzip -c a >a.gz; cat a.gz a.gz >aa.jsonl; gzip -c b | \"$0\" top --json aa.jsonl -"
            let (status, output) = try shell(script, in: directory)
            #expect(status == 0)
            #expect(output.contains(#""count":2,"#))
        }
    }

    @Test func `a damaged line is skipped and reported`() throws {
        let text =
            StallLines.line(1) + "{\"half\":\n{\"a\":1}\n\n" + StallLines.line(2).replacing("\"pid\"", with: "\"pid")
            + StallLines.line(3)
        let (status, output, errors) = try LagmondProcess.run(["top", "a"], files: ["a": text])
        #expect(status == 0)
        #expect(output.hasPrefix("2 stalls"))
        #expect(
            errors == "lagmond: skipped 3 of 5 lines: 2 damaged (not JSON, or longer than 1048576 bytes), 1 of other programs\n"
        )
    }

    @Test func `a group with several culprits or fingerprints is marked`() throws {
        let (_, output, _) = try LagmondProcess.run(["top", "--by", "cause", "a"], files: ["a": lines])
        let row = try #require(output.split(separator: "\n").last)
        #expect(row.contains("v1:0000000000000001 …") || row.contains("v1:0000000000000002 …"), "\(output)")
        #expect(row.contains("App.") && row.hasSuffix(" …"), "\(output)")
        let one = try LagmondProcess.run(["top", "--by", "host", "--host", "web-2", "a"], files: ["a": lines]).1
        #expect(one.hasSuffix("v1:0000000000000001  App.compute\n"), "\(one)")
    }

    /// They are LagMonitor's own lines but cannot be read: an empty table would mean that nothing stalled.
    @Test(arguments: ["sentry", "otlp"])
    func `lines in other LagMonitor formats are reported with their format`(format: String) throws {
        let written = try LagmondProcess.run(["export", "--format", format, "a"], files: ["a": lines])
        #expect(written.0 == 0)
        for command in ["top", "report", "export"] {
            let options = ["top": [], "report": ["-o", "page.html"], "export": ["--format", "folded"]][command] ?? []
            let (status, output, errors) = try LagmondProcess.run([command] + options + ["b"], files: ["b": written.1])
            let count = written.1.split(separator: "\n").count
            let message = "\(count) in the format \(format); only native is read (setting output.format)"
            #expect(
                status == 66 && output == "" && errors.contains("skipped \(count) of \(count) lines: \(message)"),
                "\(command) \(errors)"
            )
        }
        let both = try LagmondProcess.run(["top", "b"], files: ["b": written.1 + lines])
        #expect(both.0 == 0 && both.1.hasPrefix("4 stalls") && both.2.contains("in the format \(format)"))
        let check = try LagmondProcess.run(["check", "b"], files: ["b": written.1])
        #expect(check.0 == 1 && check.1.hasPrefix("b:1: in the format \(format); only native is read\n"), "\(check.1)")
    }

    @Test(arguments: ["ecs", "sentry", "otlp"]) func `the lines of a run are recognised as its format`(format: String) throws {
        let run = try LagmondProcess.run(
            ["--config", "c", "--duration", "1", "--format", format],
            files: ["c": #"{"workload": {"steps": [{"kind": "sleep"}]}}"#]
        )
        let (status, _, errors) = try LagmondProcess.run(["top", "a"], files: ["a": run.1])
        let count = run.1.split(separator: "\n").count
        #expect(status == 66 && count > 0)
        #expect(errors.contains("\(count) of \(count) lines: \(count) in the format \(format);"), "\(errors)")
    }

    @Test func `a line that only mentions a LagMonitor format counts as one of another program`() throws {
        let text =
            #"{"message":"\"logger\":\"lagmonitor\"","logger":"other"}"# + "\n" + #"{"@timestamp":"x","lagmonitor":{"kind":1}}"#
            + "\n"
        let (status, _, errors) = try LagmondProcess.run(["top", "a"], files: ["a": text])
        #expect(status == 66 && errors.contains("1 of other programs, 1 in the format ecs;"), "\(errors)")
    }

    @Test func `text of a record puts no control characters on a terminal`() throws {
        let line = StallLines.line(1, culprit: #"App\u001b[2Jx\n\u202ey"#)
        let (_, output, _) = try LagmondProcess.run(["top", "a"], files: ["a": line])
        #expect(output.contains("App\u{fffd}[2Jx\u{fffd}\u{fffd}y"))
        #expect(!output.contains("\u{1b}"))
    }

    @Test func `missing files are reported and the others are read`() throws {
        let (status, output, errors) = try LagmondProcess.run(["top", "gone", "a"], files: ["a": lines])
        #expect(status == 66)
        #expect(output.hasPrefix("4 stalls"))
        #expect(errors == "lagmond: cannot open gone: No such file or directory\n")
    }

    @Test(arguments: [
        (["--by", "colour"], "target"), (["--limit=-1"], "0 or more"),
        (["--since", "soon"], "allowed: 2026-11-21T18:00:00Z"),
        (["--follow"], "stdin cannot be followed"), (["--interval-s", "0"], "allowed: 0.1 to 86400"),
        (["-", "-"], "allowed: one -"), (["--since", "2026-11-22", "--until", "2026-11-21"], "--since is later than --until"),
    ])
    func `invalid options are refused`(arguments: [String], part: String) throws {
        let (status, output, errors) = try LagmondProcess.run(["top"] + arguments)
        #expect(status == 64)
        #expect(output == "")
        #expect(errors.contains(part), "\(errors)")
    }

    @Test(arguments: [("2026-11-21", 0 as Int64, 1_795_219_200 as Int64), ("90m", 10_000, 4600), ("1970-01-01T00:00:01Z", 0, 1)])
    func `times are accepted in several forms`(text: String, now: Int64, expected: Int64) throws {
        #expect(try TimeOptions.time(text, option: "--since", now: now * 1_000_000_000) == expected * 1_000_000_000)
    }

    @Test func `stalls can be grouped by cause`() throws {
        let (_, output, _) = try LagmondProcess.run(["top", "--by", "cause", "a"], files: ["a": lines])
        let rows = output.split(separator: "\n").dropFirst()
        #expect(rows.first?.contains("  cause  ") == true, "\(output)")
        #expect(rows.dropFirst().first?.contains("  lock   ") == true, "\(output)")
    }

    @Test(arguments: ["top", "check", "export --format folded"])
    func `more files are read than can be open at once`(command: String) throws {
        try ScratchDirectory.with { directory in
            for number in 0..<40 { try directory.write(StallLines.line(number), to: "f\(number)") }
            let (status, output) = try shell("ulimit -n 30; \"$0\" \(command) f* 2>&1", in: directory)
            #expect(status == 0, "\(output)")
            let expected = ["top": "40 stalls", "check": "40 lines, none damaged"][command] ?? " 16000\n"
            #expect(output.contains(expected), "\(output)")
        }
    }

    @Test func `no table is written if no input could be opened`() throws {
        let (status, output, _) = try LagmondProcess.run(["top", "gone"])
        #expect(status == 66)
        #expect(output == "")
    }

    @Test func `pipes and gzip files cannot be followed`() throws {
        try ScratchDirectory.with { directory in
            #expect(mkfifo(directory.file("pipe"), 0o600) == 0)
            let pipe = try LagmondProcess(["top", "--follow", "pipe"], in: directory)
            #expect(pipe.wait() == 66)
            #expect(pipe.errors.hasPrefix("lagmond: pipe: not a regular file; allowed"), "\(pipe.errors)")
            try directory.write(StallLines.line(1), to: "a")
            _ = try shell("gzip a", in: directory)
            let packed = try LagmondProcess(["top", "--follow", "a.gz"], in: directory)
            #expect(packed.wait() == 66)
            #expect(packed.errors.hasPrefix("lagmond: a.gz: gzip"), "\(packed.errors)")
        }
    }

    @Test(arguments: [("top", Int32(0)), ("export --format folded", 0), ("symbolize", 0), ("check", 1)])
    func `truncated gzip input is reported as damage by every command`(command: String, expected: Int32) throws {
        try ScratchDirectory.with { directory in
            try directory.write(lines, to: "a")
            let (status, output) = try shell("gzip -c a | head -c 200 >g; \"$0\" \(command) g 2>&1", in: directory)
            #expect(status == expected)
            #expect(output.contains("truncated"), "\(output)")
        }
    }

    /// As text, all lines of such a file would be damaged.
    @Test(arguments: [("zstd", #"\050\265\057\375"#), ("xz", #"\3757zXZ"#), ("bzip2", "BZh91"), ("lz4", #"\004\042\115\030"#)])
    func `another compression is refused by its name`(program: String, magic: String) throws {
        try ScratchDirectory.with { directory in
            for command in ["top", "check", "export --format folded", "symbolize"] {
                let run = "\"$0\" \(command)"
                let script = "printf '\(magic)rest' >f; \(run) f 2>&1; \(run) <f 2>&1; cat f | \(run) 2>&1"
                let (status, output) = try shell(script, in: directory)
                let reason = "compressed by \(program); allowed: plain or gzip"
                #expect(status == 66)
                #expect(output.components(separatedBy: reason).count == 4, "\(output)")
            }
        }
    }

    @Test func `a file is followed until a signal`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(StallLines.line(1), to: "a")
            let lagmond = try LagmondProcess(["top", "--follow", "--json", "--interval-s", "0.1", "a"], in: directory)
            #expect(eventually { lagmond.output.contains(#""count":1,"#) })
            #expect(rename(directory.file("a"), directory.file("a.1")) == 0)
            try directory.write(StallLines.line(2) + StallLines.line(3), to: "a")
            #expect(eventually { lagmond.output.contains(#""count":3,"#) })
            kill(lagmond.pid, SIGTERM)
            #expect(lagmond.wait() == 0)
        }
    }

    private func shell(_ script: String, in directory: ScratchDirectory) throws -> (status: Int32, output: String) {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", "(\(script)) >out", LagmondProcess.binary.path]
        shell.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        try shell.run()
        shell.waitUntilExit()
        return (shell.terminationStatus, directory.read("out"))
    }
}
