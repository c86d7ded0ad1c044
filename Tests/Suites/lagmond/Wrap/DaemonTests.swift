internal import Foundation
internal import TestSupport
internal import Testing

@Suite("Several targets in one configuration")
struct DaemonTests {
    @Test func `lagmond exits when all targets have ended`() throws {
        try DaemonFolder.with { daemon in
            let targets = #"{"name": "a", "command": ["true"]}, {"name": "b", "command": ["/bin/sh", "-c", "exit 4"]}"#
            try daemon.write(targets)
            let run = try daemon.start().end()
            #expect(run.status == 1 && run.errors.contains("b: the command exited with status 4"), "\(run.errors)")
            #expect(run.errors.contains("all targets have ended"))
        }
    }

    @Test func `a record names its target`() throws {
        try DaemonFolder.with { daemon in
            let probe = ProbeRun.probe
            let targets =
                #"{"name": "one", "command": ["\#(probe)", "stall"]}, {"name": "two", "command": ["\#(probe)", "stall"]}"#
            try daemon.write(targets)
            let run = try daemon.start().end()
            let lines = withoutRunqueue(daemon.stalls.split(separator: "\n"))
            #expect(run.status == 0 && lines.count == 2, "\(run.errors)")
            for name in ["one", "two"] { #expect(lines.count { $0.contains(#""service_name":"\#(name)""#) } == 1) }
        }
    }

    @Test func `SIGHUP reloads the settings and keeps the old ones if the new are invalid`() throws {
        try DaemonFolder.with { daemon in
            let http = #", "http": {"listen": 0}"#
            var port: UInt16 = 0
            func target(_ name: String, _ rest: String = "") -> String {
                #"{"name": "\#(name)", "command": ["\#(ProbeRun.probe)", "turn"]\#(rest)}"#
            }
            func pids() -> [String: String] {
                let body = LoopbackConnection.get("/healthz", port) ?? ""
                var found: [String: String] = [:]
                for part in body.components(separatedBy: #"{"name":""#).dropFirst() {
                    let pid = part.components(separatedBy: #""pid":"#).dropFirst().first?.prefix { $0.isNumber }
                    found[String(part.prefix { $0 != "\"" })] = pid.map(String.init)
                }
                return found
            }
            try daemon.write(target("kept") + "," + target("goes"), http)
            let running = try daemon.start()
            port = try running.port()
            #expect(eventually { pids().count == 2 })
            let before = pids()
            try daemon.write(target("kept", #", "monitor": {"timeouts": 9}"#) + "," + target("comes"), http)
            kill(running.pid, SIGHUP)
            #expect(eventually { pids()["comes"] != nil && pids()["goes"] == nil })
            #expect(pids()["kept"] == before["kept"])
            // It is watched as before.
            #expect(
                eventually {
                    LoopbackConnection.get("/metrics", port)?.contains(#"lagmonitor_target_loops{target="kept"} 1"#) == true
                }
            )
            let after = pids()
            try daemon.write(text: #"{"targets": [{"name": "kept", "comand": ["x"]}]}"#)
            kill(running.pid, SIGHUP)
            _ = try running.complaint(containing: "not reloaded")
            #expect(pids() == after)
            // The old output is gone: the next line creates it again.
            kill(running.pid, SIGTERM)
            let end = try running.end()
            #expect(end.status == 0)
            #expect(end.errors.contains("reloaded; targets: 1 started, 1 stopped, 1 kept"), "\(end.errors)")
            #expect(end.errors.contains("targets[0].comand: unknown key") && end.errors.contains("not reloaded"), "\(end.errors)")
        }
    }

    @Test func `a process that does not run yet is not a health failure`() throws {
        try DaemonFolder.with { daemon in
            let number = daemon.path + "/pid"
            let named = #"{"name": "cache", "pid_file": "\#(number)"}"#
            try daemon.write(named, #", "http": {"listen": 0}"#)
            let running = try daemon.start()
            let port = try running.port()
            let health = { LoopbackConnection.get("/healthz", port) ?? "" }
            _ = try running.complaint(containing: "cache: pid_file: \(number): No such file or directory; waiting")
            #expect(health().contains(#""status":"ok","faults":[]"#) && health().contains(#""state":"waiting""#), "\(health())")
            // A file that an exited process left.
            let gone = try ProbeRun(["/bin/sh", "-c", "echo $$ > \(number)"])
            #expect(gone.status == 0)
            _ = try running.complaint(containing: "no such process; waiting")
            #expect(health().contains(#""faults":[]"#), "\(health())")
            // A text that is never a process ID.
            try daemon.write(text: "redis", to: "pid")
            _ = try running.complaint(containing: "\"redis\" is not a process ID")
            #expect(health().contains(#""status":"failing","faults":["cache: pid_file:"#), "\(health())")
            kill(running.pid, SIGTERM)
            #expect(try running.end().status == 0)
        }
    }

    @Test func `a process below the command of one target is not attached by another`() throws {
        try DaemonFolder.with { daemon in
            let number = daemon.path + "/pid"
            let script = "\(ProbeRun.probe) turn & echo $! > \(number); wait"
            // The shell exits before its child.
            let command = #"{"name": "web", "command": ["/bin/sh", "-c", "\#(script)"], "stop_grace_s": 0.1}"#
            let named = #"{"name": "worker", "pid_file": "\#(number)"}"#
            try daemon.write(command + "," + named, #", "http": {"listen": 0}"#)
            let running = try daemon.start()
            let port = try running.port()
            let reason = "is part of the command of target web, which watches it"
            let message = try running.complaint(containing: reason)
            let pid = text(of: number).trimmingCharacters(in: .newlines)
            #expect(message == "lagmond: worker: process \(pid) \(reason); waiting")
            // It is watched once, which is not a failure.
            let metrics = { LoopbackConnection.get("/metrics", port) ?? "" }
            #expect(eventually { metrics().contains(#"lagmonitor_target_loops{target="web"} 1"#) })
            #expect(metrics().contains(#"lagmonitor_target_loops{target="worker"} 0"#))
            #expect(LoopbackConnection.get("/healthz", port)?.contains(#""faults":[]"#) == true)
            // A target with its process ID is refused, and with it the whole configuration.
            let added = #"{"name": "again", "pid": \#(pid)}"#
            try daemon.write(command + "," + named + "," + added, #", "http": {"listen": 0}"#)
            kill(running.pid, SIGHUP)
            #expect(try running.complaint(containing: "again: process \(pid) \(reason)").hasPrefix("lagmond: targets: again"))
            _ = try running.complaint(containing: "not reloaded")
            kill(running.pid, SIGTERM)
            #expect(try running.end().status == 0)
        }
    }

    @Test(arguments: ["attach", "target"]) func `the loops of a process that was already running are named`(way: String) throws {
        try DaemonFolder.with { daemon in
            let probe = try RunningProbe([ProbeRun.probe, "turn"])
            try daemon.write(#"{"name": "a", "pid": \#(probe.pid)}"#)
            let attach = ["attach", "--pid", "\(probe.pid)", "--output", daemon.path + "/stalls"]
            let running = try RunningProbe(
                [ProbeRun.lagmond] + (way == "attach" ? attach : ["run", "--config", daemon.configuration])
            )
            let label = way == "attach" ? "" : "a: "
            let message = try running.complaint(containing: "watching")
            #expect(message == "lagmond: \(label)watching main of ForeignProbe [\(probe.pid)]")
            kill(running.pid, SIGTERM)
            #expect(try running.end().status == 0)
        }
    }

    @Test func `a hang in one target does not affect the others`() throws {
        try DaemonFolder.with { daemon in
            let hang =
                #"{"name": "hangs", "command": ["\#(ProbeRun.probe)", "hang"], "on_hang": "restart", "on_hang_after_s": 0.5,"#
            let bound = #" "restart_delay_ms": 50, "restart_count": 1}"#
            let turn = #"{"name": "turns", "command": ["/bin/sh", "-c", "echo once; exec \#(ProbeRun.probe) turn"]}"#
            try daemon.write(hang + bound + "," + turn)
            let running = try daemon.start()
            #expect(eventually { daemon.stalls.components(separatedBy: #""phase":"abandoned""#).count == 3 })
            _ = try running.complaint(containing: "hangs: giving up on the command")
            kill(running.pid, SIGTERM)
            let end = try running.end()
            #expect(end.status == 0, "\(end.errors)")
            #expect(
                end.text.components(separatedBy: "once\n").count == 2 && end.text.components(separatedBy: "hanging").count == 3
            )
        }
    }

    @Test(arguments: [
        (#"{"name": "a", "pid": 2147483647}"#, Int32(66), "targets: a: process 2147483647: no such process"),
        (
            #"{"name": "a", "command": ["no-such-program-anywhere"]}"#, 127,
            "targets: a: no-such-program-anywhere: command not found"
        ),
        (
            #"{"name": "a", "command": ["true"], "monitor": {"rules": ["ping"]}}"#, 78,
            "c.json: targets[1].monitor.rules: another program's loops can neither be pinged"
        ),
        // Each error has its line; the status is that of the first one.
        (
            #"{"name": "a", "command": ["no-such-program"]}, {"name": "b", "command": ["true"], "monitor": {"rules": ["ping"]}}"#,
            127, "targets[2].monitor.rules"
        ),
        (
            #"{"name": "a", "command": ["true"], "on_hang_after_s": 3}"#, 78,
            "c.json: targets[1].on_hang_after_s: without effect while on_hang is report; allowed: with signal:NAME or restart"
        ),
    ])
    func `invalid targets are reported before anything starts`(target: String, status: Int32, message: String) throws {
        try DaemonFolder.with { daemon in
            try daemon.write(#"{"name": "z", "command": ["echo", "ran"]}, "# + target)
            let run = try daemon.start().end()
            #expect(run.status == status && run.output.isEmpty && run.errors.contains(message), "\(run.errors)")
        }
    }

    @Test func `stdout is refused as the output because it belongs to the command`() throws {
        try DaemonFolder.with { daemon in
            try daemon.write(text: #"{"output": "-", "targets": [{"name": "a", "command": ["true"]}]}"#)
            let run = try daemon.start().end()
            #expect(run.status == 78 && run.errors.contains("output.path: stdout and stderr are the command's"), "\(run.errors)")
        }
    }

    #if arch(x86_64)
        @Test func `a target that ignores SIGTERM is killed, also if the kernel has no pidfd`() throws {
            try DaemonFolder.with { daemon in
                let script = "trap '' TERM; echo $$; while :; do sleep 1; done"
                let target = #"{"name": "a", "command": ["/bin/sh", "-c", "\#(script)"], "stop_grace_s": 0.5}"#
                try daemon.write(target)
                // pidfd_open, pidfd_send_signal.
                let denied = [ProbeRun.probe, "deny", "\(ENOSYS)", "434", "424", "--"]
                let running = try RunningProbe(denied + [ProbeRun.lagmond, "run", "--config", daemon.configuration])
                let pid = try #require(running.line().flatMap { Int32($0) })
                kill(running.pid, SIGTERM)
                #expect(eventually { kill(pid, 0) != 0 || state(of: pid) == "Z" })
                kill(pid, SIGKILL)
                let end = try running.end()
                #expect(end.status == 0 && end.errors.contains("SIGKILL to all its processes"), "\(end.errors)")
            }
        }
    #endif
}
