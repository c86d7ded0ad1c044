internal import Foundation
internal import TestSupport
internal import Testing

/// The records of a stall during which the command, or lagmond itself, is killed.
@Suite("Stalls that end with a kill")
struct KillEvidenceTests {
    private static func lines(_ path: String) -> [Substring] {
        text(of: path).split(separator: "\n").filter { $0.contains(#""event":"stall""#) }
    }

    /// A file with more than its header contains a stall.
    static func isKept(_ path: String) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int).map { $0 > 4096 } ?? false
    }

    private static func hanging(_ running: RunningProbe) throws -> Int32 {
        try #require(running.line().flatMap { Int32($0.dropFirst("hanging ".count)) })
    }

    /// The command ignores the signal, as if the loop that handles it hangs.
    @Test func `a termination signal makes the stall in progress reported early`() throws {
        try withFolder { folder in
            let output = folder + "/stalls"
            let running = try RunningProbe([
                ProbeRun.lagmond, "run", "--hang-after-ms", "3600000", "--output", output, "--", "/bin/sh", "-c",
                "trap '' TERM; exec \(ProbeRun.probe) hang",
            ])
            let pid = try Self.hanging(running)
            defer { kill(pid, SIGKILL) }
            #expect(eventually { Self.isKept(folder + "/.stalls.unfinished") })
            #expect(Self.lines(output).isEmpty)
            kill(running.pid, SIGTERM)
            #expect(eventually { Self.lines(output).count == 1 })
            #expect(Self.lines(output).first?.contains(#""phase":"begin""#) == true)
            #expect(kill(pid, 0) == 0)
            kill(pid, SIGKILL)
            #expect(try running.end().signal == SIGKILL)
            let phases = Self.lines(output).map { $0.contains(#""phase":"begin""#) ? "begin" : "other" }
            #expect(phases == ["begin", "other"] && Self.lines(output).last?.contains(#""phase":"abandoned""#) == true)
            #expect(!FileManager.default.fileExists(atPath: folder + "/.stalls.unfinished"))
        }
    }

    /// Work that the signal starts is not a stall in progress, however long it takes.
    @Test func `a program that exits in order on a signal is not reported as stalled`() throws {
        try withFolder { folder in
            let output = folder + "/stalls"
            let running = try RunningProbe([ProbeRun.lagmond, "run", "--output", output, "--", ProbeRun.probe, "places", "ends"])
            running.send("\n")
            _ = try Self.hanging(running)
            kill(running.pid, SIGTERM)
            let end = try running.end()
            #expect(end.status == 0 && Self.lines(output).isEmpty, "\(end.errors) \(Self.lines(output))")
        }
    }

    @Test func `a stall during which lagmond was killed is reported by its next start`() throws {
        try withFolder { folder in
            let (output, file) = (folder + "/stalls", folder + "/.stalls.unfinished")
            let running = try RunningProbe([
                ProbeRun.lagmond, "run", "--label", "team=shop", "--output", output, "--hang-after-ms", "3600000", "--",
                ProbeRun.probe,
                "hang",
            ])
            let pid = try Self.hanging(running)
            #expect(eventually { Self.isKept(file) })
            kill(running.pid, SIGKILL)
            kill(pid, SIGKILL)
            _ = try running.end()
            #expect(Self.lines(output).isEmpty)

            let next = try ProbeRun([ProbeRun.lagmond, "run", "--output", output, "--", "/bin/true"])
            #expect(next.status == 0)
            #expect(next.errors.contains("1 stall that was in progress when an earlier lagmond was killed"), "\(next.errors)")
            let line = Self.lines(output).first ?? ""
            #expect(Self.lines(output).count == 1 && line.contains(#""phase":"abandoned""#) && line.contains(#""pid":\#(pid),"#))
            #expect(line.contains(#""labels":{"team":"shop"}"#))
            #expect(!FileManager.default.fileExists(atPath: file))

            let third = try ProbeRun([ProbeRun.lagmond, "run", "--output", output, "--", "/bin/true"])
            #expect(third.errors == ProbeRun.summary && Self.lines(output).count == 1, "it is reported once")
        }
    }

    @Test func `the command does not start if the file of unfinished stalls cannot be opened`() throws {
        let run = try ProbeRun(
            ProbeRun.wrapper + ["/bin/echo", "ran"],
            environment: ["LAGMONITOR_OUTPUT_UNFINISHED_PATH": "/nonexistent/u"]
        )
        #expect(run.status == 73 && run.output.isEmpty)
        #expect(
            run.errors.contains("output.unfinished_path: stalls in progress cannot be kept at /nonexistent/u"),
            "\(run.errors)"
        )
    }

    @Test func `a record contains the service, Kubernetes names and labels of the environment`() throws {
        try withFolder { folder in
            let output = folder + "/stalls"
            let running = try RunningProbe(
                [ProbeRun.lagmond, "run", "--hang-after-ms", "0", "--output", output, "--", ProbeRun.probe, "hang"],
                environment: [
                    "OTEL_RESOURCE_ATTRIBUTES": "service.name=shop%20eu,k8s.pod.name=shop-7d9c", "POD_NAMESPACE": "store",
                    "LAGMONITOR_LABELS": "team=shop,stage=prod",
                ]
            )
            let pid = try Self.hanging(running)
            defer { kill(pid, SIGKILL) }
            #expect(eventually { Self.lines(output).count == 1 })
            let line = Self.lines(output).first ?? ""
            #expect(line.contains(#""service_name":"shop eu","#) && line.contains(#""k8s_pod_name":"shop-7d9c","#), "\(line)")
            #expect(
                line.contains(#""k8s_namespace_name":"store","#) && line.contains(#""labels":{"stage":"prod","team":"shop"},"#)
            )
            kill(pid, SIGKILL)
            _ = try running.end()
        }
    }
}
