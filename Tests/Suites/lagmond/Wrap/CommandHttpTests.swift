internal import Foundation
internal import TestSupport
internal import Testing

@Suite("HTTP service of a wrapped command")
struct CommandHttpTests {
    private static func count(_ cause: String = "syscall") -> String {
        #"lagmonitor_loop_stall_duration_seconds_count{process="ForeignProbe",loop="main",cause="\#(cause)"}"#
    }

    private static func withService(_ command: [String], _ body: (RunningProbe, UInt16, String) throws -> Void) throws {
        try withFolder { folder in
            let output = folder + "/stalls"
            let options = [ProbeRun.lagmond, "run", "--listen", "0", "--output", output, "--"]
            let running = try RunningProbe(options + command)
            try body(running, try running.port(), output)
        }
    }

    @Test func `the metrics keep stalls of processes that have exited`() throws {
        let probe = ProbeRun.probe
        // On a busy machine the exit of a process that runs for only a second may be noticed first.
        let stalls = String(repeating: "\(probe) stall; ", count: 5)
        try Self.withService(["/bin/sh", "-c", "\(stalls) exec \(probe) turn"]) { running, port, output in
            var (counted, written) = (0, 0)
            let isCounted = eventually {
                let lines = (LoopbackConnection.get("/metrics", port) ?? "").split(separator: "\n")
                counted =
                    lines.lazy.filter { $0.hasPrefix(Self.count()) }.compactMap { Int($0.dropFirst(Self.count().count + 1)) }
                    .first ?? 0
                written = text(of: output).split(separator: "\n").count { $0.contains(#""cause":"syscall""#) }
                return counted >= 2 && counted == written
            }
            #expect(isCounted, "\(counted) counted, \(written) written")
            #expect(eventually { LoopbackConnection.get("/metrics", port)?.contains("lagmonitor_target_loops{} 1\n") == true })
            // The counted loop may belong to a process that has exited by now.
            var health = ""
            let isListed = eventually {
                health = LoopbackConnection.get("/healthz", port) ?? ""
                return health.contains(#""process_name":"ForeignProbe","loops":[{"loop":"main""#)
            }
            #expect(isListed && health.contains("200 OK") && health.contains(#""watching":true"#), "\(health)")
            // No process was stalled when it exited. (Other stalls come from a busy machine.)
            #expect(!text(of: output).contains("abandoned"), "\(text(of: output))")
            kill(running.pid, SIGTERM)
            let end = try running.end()
            #expect(end.signal == SIGTERM && end.errors.contains("listening on http://127.0.0.1:\(port)\n"))
        }
    }

    @Test func `lines are streamed as they are written`() throws {
        try Self.withService([ProbeRun.probe, "hang"]) { running, port, _ in
            #expect(eventually { LoopbackConnection.get("/metrics", port)?.contains("lagmonitor_target_loops{} 1\n") == true })
            let pid = running.pid
            Thread {
                // The client is connected by then; otherwise it gets nothing, and the test fails.
                usleep(2_000_000)
                kill(pid, SIGTERM)
            }.start()
            let stream = try #require(LoopbackConnection.get("/stalls", port) { $0.hasSuffix("\r\n0\r\n\r\n") })
            #expect(stream.contains(#""phase":"abandoned""#) && stream.contains("handler_that_hangs"), "\(stream)")
            #expect(try running.end().signal == SIGTERM)
        }
    }

    @Test func `the metrics show the lag of a loop that hangs`() throws {
        try Self.withService([ProbeRun.probe, "hang"]) { running, port, _ in
            let busy = #"lagmonitor_loop_lag_seconds{process="ForeignProbe",loop="main"} "#
            #expect(
                eventually {
                    LoopbackConnection.get("/metrics", port)?.split(separator: "\n").contains {
                        $0.hasPrefix(busy) && (Double($0.dropFirst(busy.count)) ?? 0) > 0.5
                    } == true
                }
            )
            kill(running.pid, SIGTERM)
            _ = try running.end()
        }
    }

    @Test func `the command inherits no descriptor of the HTTP server`() throws {
        let facts = [ProbeRun.probe, "facts"]
        let isDescriptor = { (line: Substring) in line.hasPrefix("descriptor ") }
        let bare = try ProbeRun([ProbeRun.probe, "nohup"] + facts)
        let wrapped = try ProbeRun(
            [ProbeRun.probe, "nohup", ProbeRun.lagmond, "run", "--listen", "0", "--output", "/dev/null", "--"] + facts
        )
        #expect(
            wrapped.text.split(separator: "\n").filter(isDescriptor) == bare.text.split(separator: "\n").filter(isDescriptor),
            "\(wrapped.text)"
        )
    }

    @Test func `a listen address in use is reported before the command starts`() throws {
        try Self.withService([ProbeRun.probe, "turn"]) { _, port, _ in
            #expect(eventually { LoopbackConnection.get("/healthz", port) != nil })
            let second = try ProbeRun([ProbeRun.lagmond, "run", "--listen", "\(port)", "--", "/bin/echo", "ran"])
            #expect(second.status == 71 && second.output.isEmpty && second.errors.contains("http.listen: cannot listen on"))
        }
    }
}
