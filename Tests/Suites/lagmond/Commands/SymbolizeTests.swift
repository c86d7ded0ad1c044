internal import Foundation
import Glibc
import LagDiagnosis
import LagSymbols
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// Runs `lagmond symbolize` as users do, on a record of a real run.
@Suite(.serialized) struct SymbolizeTests {
    /// A record of a real stall, created once. `sleepUntil` is in its stack; starting on a busy machine may also have stalled.
    private static let record: Result<String, any Error> = Result {
        let (status, output, errors) = try LagmondProcess.run(
            ["--config", "c.json", "--duration", "1.5"],
            files: ["c.json": #"{"monitor": {"symbols": "names"}, "workload": {"steps": [{"kind": "sleep", "for_ms": 400}]}}"#]
        )
        guard status == 0, let line = output.split(separator: "\n").first(where: { $0.contains("sleepUntil") }) else {
            throw Failure(errors)
        }
        return line + "\n"
    }

    private struct Failure: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }

    private func frames(_ line: String) throws -> [[String: Any]] {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        return try #require(object["frames"] as? [[String: Any]])
    }

    private func lineOfSleep() throws -> Int {
        let source = Repository.root.appendingPathComponent("Sources/lagmond/Workload/WorkloadSteps+Waiting.swift")
        let lines = try String(contentsOf: source, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
        return try #require(lines.firstIndex { $0.contains("nanosleep") }) + 1
    }

    @Test(.enabled(if: SymbolizerProgram.find() != nil, "no llvm-symbolizer on this machine"))
    func `frames get file and line and the rest of the line does not change`() throws {
        let record = try Self.record.get()
        let (status, output, errors) = try LagmondProcess.run(["symbolize", "r.jsonl"], files: ["r.jsonl": record])
        #expect(status == 0, "\(errors)")
        let sleep = try #require(try frames(output).first { ($0["symbol"] as? String)?.hasSuffix(".sleepUntil") == true })
        #expect((sleep["file"] as? String)?.hasSuffix("/WorkloadSteps+Waiting.swift") == true)
        #expect(sleep["line"] as? Int == (try lineOfSleep()))
        #expect(sleep["inlined"] == nil)

        // Without the additions, the line is byte for byte the original.
        let place = try Regex(#","file":"[^"]*"(,"line":\d+)?"#)
        let inlined = try Regex(#"\{[^{}]*"inlined":true[^{}]*\},"#)
        #expect(output.replacing(inlined, with: "").replacing(place, with: "") == record)

        let again = try LagmondProcess.run(["symbolize", "r.jsonl"], files: ["r.jsonl": output])
        #expect(again.output == output)
    }

    @Test func `missing symbol names are added without a symbolizer`() throws {
        let record = try Self.record.get().replacing(
            try Regex(#","symbol":"[^"]*"(,"function":"[^"]*")?,"symbol_offset":\d+"#),
            with: ""
        )
        #expect(!record.contains("\"symbol\":"))
        try ScratchDirectory.with { directory in
            // PATH is invalid; a symbolizer in one of Debian's fixed folders may still be found.
            try directory.write(record, to: "r.jsonl")
            let lagmond = try LagmondProcess(["symbolize", "r.jsonl"], in: directory, environment: ["PATH": "/nonexistent"])
            #expect(lagmond.wait() == 0)
            #expect(lagmond.output.contains(#""symbol":"LagWorkload.sleepUntil","function":"LagWorkload.sleepUntil("#))
        }
    }

    @Test func `lines that are not records or not JSON pass unchanged`() throws {
        let lines = [
            "plain text", #"{"schema":"other","frames":[{"pc":1}]}"#, "", #"{"broken": "#, #"{"a":1}}"#, "[1,  2]",
            #"{"schema":"lagmonitor.stall.v1","event":"stall","n":1.10,"frames":[{"pc":"0x1"}, 7, {"build_id":5}]}"#, "no end",
        ]
        let text = lines.joined(separator: "\n")
        let (status, output, errors) = try LagmondProcess.run(["symbolize", "l", "l"], files: ["l": text])
        #expect(status == 0)
        #expect(output == text + text)
        let expected = [
            "lagmond: l:4: not JSON, left unchanged: expected a value, found the end at byte 13",
            "lagmond: l: further lines that are not JSON, left unchanged: 1",
        ]
        #expect(errors.split(separator: "\n").map(String.init).filter { !$0.contains("llvm-symbolizer") } == expected + expected)
    }

    @Test func `a symbolizer that gives no answer is reported`() throws {
        let record = try Self.record.get()
        let (status, output, errors) = try LagmondProcess.run(
            ["symbolize", "--symbolizer", "/bin/true", "r.jsonl"],
            files: ["r.jsonl": record]
        )
        #expect(status == 0)
        #expect(output == record)
        #expect(errors.contains("/bin/true: gave no answer"), "\(errors)")
    }

    @Test func `a missing binary is reported once`() throws {
        let frame = #"{"pc":"0x1","module":"libgone.so","build_id":"00ff00ff","offset":"0x10"}"#
        let line = #"{"schema":"lagmonitor.stall.v1","event":"stall","frames":["# + frame + "," + frame + "]}\n"
        let (status, output, errors) = try LagmondProcess.run(["symbolize", "l"], files: ["l": line + line])
        #expect(status == 0)
        #expect(output == line + line)
        let missing = errors.split(separator: "\n").filter { $0.contains("00ff00ff") }
        #expect(
            missing == ["lagmond: no file with build-id 00ff00ff (libgone.so); use --binary, --search or --debug-root"]
        )
    }

    @Test(.enabled(if: SymbolizerProgram.find() != nil, "no llvm-symbolizer on this machine"))
    func `binaries are found by file name and in folders`() throws {
        let module = LagmondProcess.binary.deletingLastPathComponent().appendingPathComponent("MonitorProbe").path
        let id = try #require(BinarySummary(path: module)?.buildID)
        let offset = try entryPoint(of: module)
        let frame = #"{"pc":"0x1","module":"x","build_id":""# + id + #"","offset":""# + offset + #""}"#
        let line = #"{"schema":"lagmonitor.stall.v1","event":"stall","frames":["# + frame + "]}\n"
        let without = try LagmondProcess.run(["symbolize", "l"], files: ["l": line])
        #expect(without.output == line)
        for options in [["--binary", module], ["--search", (module as NSString).deletingLastPathComponent]] {
            let with = try LagmondProcess.run(["symbolize", "l"] + options, files: ["l": line])
            #expect(with.status == 0)
            #expect(try frames(with.output)[0]["symbol"] as? String == "_start", "\(options)")
        }
    }

    /// In the line, the stacks of the other threads precede that of the stalled thread.
    @Test(arguments: [("lock", "lock_owner"), ("hang", "lock_cycle")])
    func `records of locks and deadlocks get file and line in every stack`(kind: String, member: String) throws {
        let step = kind == "hang" ? #"{"kind": "hang"}"# : #"{"kind": "lock", "for_ms": 400}"#
        let (_, records, _) = try LagmondProcess.run(
            ["--config", "c.json", "--duration", "2"],
            files: ["c.json": #"{"workload": {"steps": ["# + step + "]}}"]
        )
        let found = try #require(records.split(separator: "\n").first { $0.contains("\"\(member)\":") })
        let record = "\(found)\n"
        let (status, output, errors) = try LagmondProcess.run(["symbolize", "r"], files: ["r": record])
        #expect(status == 0, "\(errors)")
        #expect(output.split(separator: "\n").count == 1)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
        // In a cycle, the stalled thread's frames are those of the record, and the owner's frames are those of `lock_owner`.
        let owner = try #require(object["lock_owner"] as? [String: Any])
        let stacks = ([object, owner] + (object["lock_cycle"] as? [[String: Any]] ?? [])).compactMap {
            $0["frames"] as? [[String: Any]]
        }
        #expect(stacks.count >= 2)
        for frames in stacks {
            #expect(frames.contains { $0["symbol"] != nil })
            guard SymbolizerProgram.find() != nil else { continue }
            #expect(frames.contains { ($0["file"] as? String)?.contains("/Workload/") == true })
        }
    }

    private func entryPoint(of path: String) throws -> String {
        let header = [UInt8](try #require(try FileHandle(forReadingAtPath: path)?.read(upToCount: 64)))
        let entry = header[24..<32].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return "0x" + String(entry, radix: 16)
    }

    @Test func `the text option prints a readable report`() throws {
        let (status, output, _) = try LagmondProcess.run(["symbolize", "--text", "r"], files: ["r": try Self.record.get()])
        #expect(status == 0)
        let lines = output.split(separator: "\n")
        #expect(lines[0].hasPrefix("main was stalled for "))
        #expect(lines.contains { $0.hasPrefix("  why: ") })
        #expect(lines.contains { $0.hasPrefix("#1 LagWorkload.sleepUntil") || $0.hasPrefix("#2 LagWorkload.sleepUntil") })
    }

    @Test(arguments: [
        (["missing.jsonl"], Int32(66), "cannot open missing.jsonl: No such file or directory"),
        (
            ["--binary", "/nonexistent"], 66,
            "/nonexistent: No such file or directory; allowed: a 64-bit ELF file with a build-id"
        ),
        (["--binary", "/etc/passwd"], 66, "/etc/passwd: not a program or library"),
        (["--search", "/nonexistent"], 66, "/nonexistent: No such file or directory; allowed: a folder that can be read"),
        (["--debug-root", "/etc/passwd"], 66, "/etc/passwd: not a folder"),
        (["--symbolizer", "/nonexistent"], 69, "/nonexistent: not a program; allowed: an llvm-symbolizer"),
        (["--bogus"], 64, "Unknown option"),
    ])
    func `a missing file, folder or program is reported with its exit status`(arguments: [String], status: Int32, message: String)
        throws
    {
        let result = try LagmondProcess.run(["symbolize"] + arguments)
        #expect(result.status == status)
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(result.output == "")
    }

    @Test func `the other files are read if one cannot be opened`() throws {
        let (status, output, _) = try LagmondProcess.run(["symbolize", "gone", "there"], files: ["there": "text\n"])
        #expect(status == 66)
        #expect(output == "text\n")
    }

    @Test func `a stream is processed line by line until its reader is gone`() throws {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        // The second line is written only after the first one was received; then the reader is gone.
        shell.arguments = [
            "-c",
            "d=$(mktemp -d); mkfifo $d/in $d/out; $0 symbolize <$d/in >$d/out 2>/dev/null & p=$!; exec 3>$d/in 4<$d/out; "
                + "echo one >&3; read -r line <&4; exec 4<&-; echo two >&3; exec 3>&-; wait $p; s=$?; rm -r $d; "
                + "[ \"$line\" = one ] && exit $s; exit 99",
            LagmondProcess.binary.path,
        ]
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0)
    }
}
