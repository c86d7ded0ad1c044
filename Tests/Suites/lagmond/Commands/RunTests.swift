internal import Foundation
import Glibc
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// The running program: how it exits, and which output it leaves.
@Suite(.serialized) struct RunTests {
    private static let steps = #""workload": {"steps": [{"kind": "hang", "start_ms": 50}]}"#
    /// A hang that is reported after a second, and one that is not reported while it lasts.
    private static let hang = #"{"monitor": {"hang_after_ms": 1000}, \#(steps)}"#
    private static let silentHang = #"{"monitor": {"hang_after_ms": 600000}, \#(steps)}"#
    private static let calm = #"{"workload": {"steps": [{"kind": "idle", "every_ms": 50}]}}"#

    /// The truth log has a hang only at its end; the first record shows that it has begun.
    private func waitForHang(of lagmond: LagmondProcess) {
        let hangs = eventually {
            lagmond.output.split(separator: "\n").contains {
                $0.contains(#""phase":"begin""#) && $0.contains("lockInOppositeOrder")
            }
        }
        #expect(hangs, "the hang is not reported: \(lagmond.output)")
    }

    private func isSummarised(_ errors: String) -> Bool {
        errors.contains(/lagmond: stalls=[0-9]+ reported=[0-9]+ dropped=[0-9]+ suppressed=[0-9]+( [a-z_]+=[1-9][0-9]*)*\n$/)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a signal ends the run during a hang`(signal: Int32) throws {
        try ScratchDirectory.with { directory in
            try directory.write(Self.hang, to: "c.json")
            let lagmond = try LagmondProcess(["--config", "c.json", "--truth", "t"], in: directory)
            waitForHang(of: lagmond)
            kill(lagmond.pid, signal)
            #expect(lagmond.wait(seconds: 20) == 0)
            #expect(isSummarised(lagmond.errors))
            #expect(directory.read("t").contains(#""kind":"hang""#))
            #expect(lagmond.output.contains(#""phase":"abandoned""#))
            #expect(lagmond.output.contains("lockInOppositeOrder"))
        }
    }

    /// The next process reports the stall that was in progress when the process was killed.
    @Test func `a hang during which the process was killed is reported by the next start`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(Self.silentHang, to: "c.json")
            let killed = try LagmondProcess(["--config", "c.json", "--output", "s.jsonl"], in: directory)
            let file = directory.file(".s.jsonl.unfinished")
            #expect(eventually { (try? Data(contentsOf: URL(fileURLWithPath: file)).count) ?? 0 > 4096 })
            // The file is updated while the stall lasts.
            let first = try Data(contentsOf: URL(fileURLWithPath: file))
            #expect(eventually { (try? Data(contentsOf: URL(fileURLWithPath: file))) != first })
            kill(killed.pid, SIGKILL)
            _ = killed.wait()
            func lines() -> [Substring] { withoutRunqueue(directory.read("s.jsonl").split(separator: "\n")) }
            func count() -> Int { directory.read("s.jsonl").count { $0 == "\n" } }
            #expect(lines().isEmpty)
            let before = count()

            let next = try LagmondProcess(["--duration", "0.3", "--output", "s.jsonl"], in: directory)
            #expect(next.wait() == 0 && next.errors.contains("reported=\(count() - before) "), "\(next.errors)")
            let reported = lines()
            #expect(reported.count == 1)
            let line = reported.first ?? ""
            #expect(line.contains(#""phase":"abandoned""#) && line.contains("lockInOppositeOrder"))
            #expect(line.contains(#""pid":\#(killed.pid),"#))
            #expect(!FileManager.default.fileExists(atPath: file))

            let third = try LagmondProcess(["--duration", "0.2", "--output", "s.jsonl"], in: directory)
            #expect(third.wait() == 0)
            #expect(lines() == reported, "it is reported once")
        }
    }

    @Test func `the run does not start if the file of unfinished stalls cannot be opened`() throws {
        let (status, _, errors) = try LagmondProcess.run(
            ["--duration", "0.1"],
            environment: ["LAGMONITOR_OUTPUT_UNFINISHED_PATH": "/nonexistent/u"]
        )
        #expect(status == 73 && errors.contains("/nonexistent/u: No such file or directory"), "\(errors)")
    }

    @Test func `the duration option ends the run during a hang`() throws {
        let (status, _, errors) = try LagmondProcess.run(
            ["--config", "c.json", "--duration", "0.6"],
            files: ["c.json": Self.hang]
        )
        #expect(status == 0)
        #expect(isSummarised(errors))
    }

    @Test func `a run without workload steps reports no stall`() throws {
        let (status, output, errors) = try LagmondProcess.run(["--duration", "0.3"])
        #expect(status == 0)
        #expect(withoutRunqueue(output.split(separator: "\n")).isEmpty)
        #expect(isSummarised(errors))
    }

    @Test func `only the chosen rule detects the stall`() throws {
        let steps = #"{"workload": {"steps": [{"kind": "sleep", "for_ms": 600, "start_ms": 200}]}}"#
        let (status, output, errors) = try LagmondProcess.run(
            ["--config", "c.json", "--duration", "1.5", "--rules", "ping", "--timeouts", "9"],
            files: ["c.json": steps],
            environment: ["LAGMONITOR_MONITOR_PING_INTERVAL_MS": "20"]
        )
        #expect(status == 0)
        #expect(errors.hasPrefix("lagmond: option --timeouts: no effect, because callout is not among the rules\n"))
        #expect(isSummarised(errors))
        #expect(output.contains(#""kind":"ping""#))
        #expect(output.contains(#""threshold_ms":60.0"#))
        #expect(!output.contains(#""kind":"callout""#))
    }

    @Test func `nothing is reported during the startup grace`() throws {
        let steps = #"{"workload": {"steps": [{"kind": "sleep", "for_ms": 300, "start_ms": 50}]}}"#
        let arguments = ["--config", "c.json", "--duration", "0.6"]
        let environment = ["LAGMONITOR_MONITOR_STARTUP_GRACE_MS": "60000"]
        let graced = try LagmondProcess.run(arguments, files: ["c.json": steps], environment: environment)
        #expect(graced.status == 0)
        #expect(graced.output == "")
        #expect(graced.errors.contains("stalls=0 "))
    }

    @Test func `the run exits cleanly when the reader of stdout is gone`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(Self.calm, to: "c.json")
            let pipe = Pipe()
            let lagmond = try LagmondProcess(
                ["--config", "c.json", "--truth", "t"],
                in: directory,
                stdout: pipe.fileHandleForWriting
            )
            try pipe.fileHandleForWriting.close()
            #expect(eventually { !directory.read("t").isEmpty })
            #expect(lagmond.process.isRunning)
            try pipe.fileHandleForReading.close()
            #expect(lagmond.wait(seconds: 20) == 0)
            #expect(lagmond.errors.contains("lagmond: the reader of stdout is gone: exiting\n"))
            #expect(isSummarised(lagmond.errors))
        }
    }

    @Test func `SIGHUP reopens the output and the truth log`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(#"{"workload": {"steps": [{"kind": "sleep", "for_ms": 250, "every_ms": 400}]}}"#, to: "c.json")
            let lagmond = try LagmondProcess(["--config", "c.json", "--truth", "t", "--output", "o"], in: directory)
            #expect(eventually { !directory.read("t").isEmpty && !directory.read("o").isEmpty })
            for name in ["t", "o"] {
                try FileManager.default.moveItem(atPath: directory.file(name), toPath: directory.file(name + ".1"))
            }
            kill(lagmond.pid, SIGHUP)
            #expect(eventually { !directory.read("t").isEmpty && !directory.read("o").isEmpty })
            kill(lagmond.pid, SIGTERM)
            #expect(lagmond.wait(seconds: 20) == 0)
            #expect(lagmond.output == "")
        }
    }

    @Test func `a child starts with no signal blocked or ignored`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(#"{"workload": {"steps": [{"kind": "child", "for_ms": 30000}]}}"#, to: "c.json")
            let lagmond = try LagmondProcess(["--config", "c.json"], in: directory)
            let path = "/proc/\(lagmond.pid)/task/\(lagmond.pid)/children"
            var status = ""
            let found = eventually {
                let child = (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: " ").first
                status = child.flatMap { try? String(contentsOfFile: "/proc/\($0)/status", encoding: .utf8) } ?? ""
                return status.contains("Name:\tsleep")
            }
            #expect(found)
            #expect(status.contains("SigBlk:\t0000000000000000"))
            // Signals above 31 belong to the C library: posix_spawn leaves them ignored until the child sets them up.
            let ignored = status.split(separator: "\n").first { $0.hasPrefix("SigIgn:\t") }?.dropFirst("SigIgn:\t".count)
            #expect(ignored.flatMap { UInt64($0, radix: 16) }.map { $0 & 0x7fff_ffff } == 0)
            kill(lagmond.pid, SIGTERM)
            #expect(lagmond.wait(seconds: 20) == 0)
            let pid = status.split(separator: "\n").first { $0.hasPrefix("Pid:") }?.split(separator: "\t").last ?? "none"
            let isGone = eventually(seconds: 10) {
                // A zombie that is not reaped yet counts as gone.
                let state = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? "State:\tZ"
                return state.contains("State:\tZ")
            }
            #expect(isGone, "the child outlives the run")
        }
    }
}
