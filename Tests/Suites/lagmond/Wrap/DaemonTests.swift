internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import lagmond

@Suite("Several targets in one configuration")
struct DaemonTests {
    /// A socket that receives `sd_notify` messages; its address is a path, or `@` and an abstract name.
    private final class NotifySocket {
        private let descriptor: Int32
        private(set) var messages: [String] = []

        init(_ address: String) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(address.utf8)
            withUnsafeMutableBytes(of: &name.sun_path) { path in
                path.copyBytes(from: bytes)
                if bytes[0] == UInt8(ascii: "@") { path[0] = 0 }
            }
            let length = socklen_t(2 + bytes.count + (bytes[0] == UInt8(ascii: "@") ? 0 : 1))
            let isBound = withUnsafePointer(to: name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
            }
            try #require(isBound)
        }

        deinit { close(descriptor) }

        func take() {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
                messages.append(String(decoding: buffer[..<count], as: UTF8.self))
            }
        }

        func receives(_ text: String) -> Bool {
            eventually {
                take()
                return messages.contains { $0.contains(text) }
            }
        }

        func forget() { messages = [] }
    }

    private static func write(_ text: String, _ path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    private static func threads(of pid: pid_t) -> [String] {
        let folder = "/proc/\(pid)/task"
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return numbers.map { text(of: "\(folder)/\($0)/comm").trimmingCharacters(in: .newlines) }
    }

    /// Waits until the threads have completed one more round: a thread that is held while it begins a watch holds a lock that
    /// the main thread needs too.
    private static func awaitRound(_ socket: NotifySocket) {
        // The first message may have been sent before.
        for _ in 0..<2 {
            socket.take()
            socket.forget()
            #expect(socket.receives("WATCHDOG=1"))
        }
    }

    private static func config(_ folder: String, _ targets: String, _ rest: String = "") -> String {
        #"{"output": {"path": "\#(folder)/stalls"}\#(rest), "targets": [\#(targets)]}"#
    }

    @Test func `the service manager is notified of start, status, reload and stop`() async throws {
        try await atOnce([false, true]) { isAbstract in try Self.expectNotices(isAbstract: isAbstract) }
    }

    private static func expectNotices(isAbstract: Bool) throws {
        try withFolder { folder in
            let address = isAbstract ? "@lagmond-test-\(getpid())-\(UUID().uuidString)" : folder + "/notify"
            let socket = try NotifySocket(address)
            let file = folder + "/c.json"
            try Self.write(Self.config(folder, #"{"name": "a", "command": ["\#(ProbeRun.probe)", "turn"]}"#), file)
            let running = try RunningProbe(
                [ProbeRun.lagmond, "run", "--config", file],
                environment: ["NOTIFY_SOCKET": address, "WATCHDOG_USEC": "400000", "WATCHDOG_PID": ""]
            )
            #expect(socket.receives("READY=1"))
            #expect(socket.receives("STATUS=1 of 1 targets running"))
            // WATCHDOG_PID names no process, so lagmond does not notify the watchdog.
            usleep(500_000)
            socket.take()
            #expect(!socket.messages.contains("WATCHDOG=1"))
            kill(running.pid, SIGHUP)
            #expect(socket.receives("RELOADING=1\nMONOTONIC_USEC="))
            kill(running.pid, SIGTERM)
            #expect(socket.receives("STOPPING=1"))
            #expect(try running.end().status == 0)
        }
    }

    @Test func `the watchdog is notified while the monitor responds`() throws {
        try withFolder { folder in
            let socket = try NotifySocket(folder + "/notify")
            let file = folder + "/c.json"
            try Self.write(Self.config(folder, #"{"name": "a", "command": ["\#(ProbeRun.probe)", "turn"]}"#), file)
            let running = try RunningProbe(
                [ProbeRun.lagmond, "run", "--config", file],
                environment: ["NOTIFY_SOCKET": folder + "/notify", "WATCHDOG_USEC": "400000"]
            )
            #expect(socket.receives("WATCHDOG=1"))
            socket.forget()
            #expect(socket.receives("WATCHDOG=1"))
            kill(running.pid, SIGTERM)
            #expect(try running.end().status == 0)
        }
    }

    @Test func `a watch that hangs on one process is named and the watchdog notices continue`() throws {
        try withFolder { folder in
            let socket = try NotifySocket(folder + "/notify")
            let file = folder + "/c.json"
            try Self.write(Self.config(folder, #"{"name": "a", "command": ["\#(ProbeRun.probe)", "turn"]}"#), file)
            let running = try RunningProbe(
                [ProbeRun.lagmond, "run", "--config", file],
                environment: ["NOTIFY_SOCKET": folder + "/notify", "WATCHDOG_USEC": "400000"]
            )
            #expect(socket.receives("WATCHDOG=1"))
            #expect(eventually { Self.threads(of: running.pid).contains("lag-watchdog") })
            Self.awaitRound(socket)
            let holder = try RunningProbe([ProbeRun.probe, "hold", "\(running.pid)", "lag-watchdog"])
            try #require(holder.line() == "holding")
            let message = try running.complaint(containing: "does not answer")
            #expect(
                message.hasPrefix("lagmond: the watch of ForeignProbe (")
                    && message.contains(") in a does not answer; its stalls")
            )
            socket.take()
            socket.forget()
            #expect(socket.receives("WATCHDOG=1"))
            #expect(try holder.end().status == 0)
            kill(running.pid, SIGTERM)
            let end = try running.end()
            #expect(end.status == 0 && end.errors.components(separatedBy: "does not answer").count == 2, "\(end.errors)")
        }
    }

    @Test func `the watchdog is not notified while a monitor thread hangs`() async throws {
        try await atOnce(["lag-loop-table", "lag-processes"]) { thread in try Self.expectNoFood(whileHolding: thread) }
    }

    private static func expectNoFood(whileHolding thread: String) throws {
        try withFolder { folder in
            let socket = try NotifySocket(folder + "/notify")
            let file = folder + "/c.json"
            try Self.write(Self.config(folder, #"{"name": "a", "command": ["\#(ProbeRun.probe)", "turn"]}"#), file)
            let running = try RunningProbe(
                [ProbeRun.lagmond, "run", "--config", file],
                environment: ["NOTIFY_SOCKET": folder + "/notify", "WATCHDOG_USEC": "400000"]
            )
            // The watchdog thread starts with the first loop.
            #expect(socket.receives("WATCHDOG=1"))
            #expect(eventually { Self.threads(of: running.pid).contains("lag-watchdog") })
            Self.awaitRound(socket)
            let holder = try RunningProbe([ProbeRun.probe, "hold", "\(running.pid)", thread])
            try #require(holder.line() == "holding")
            // Messages that were already sent.
            usleep(500_000)
            socket.take()
            socket.forget()
            sleep(2)
            socket.take()
            #expect(!socket.messages.contains("WATCHDOG=1"), "\(socket.messages)")
            #expect(try holder.end().status == 0)
            #expect(socket.receives("WATCHDOG=1"))
            kill(running.pid, SIGTERM)
            let end = try running.end()
            #expect(end.status == 0 && end.errors.contains("the watch of a does not answer"), "\(end.errors)")
        }
    }

    @Test func `a target does not inherit the variables of the service manager`() throws {
        try withFolder { folder in
            let file = folder + "/c.json"
            try Self.write(Self.config(folder, #"{"name": "a", "command": ["/usr/bin/env"]}"#), file)
            let variables = ["NOTIFY_SOCKET": folder + "/none", "WATCHDOG_USEC": "4000000", "LISTEN_FDS": "1"]
            let run = try ProbeRun([ProbeRun.lagmond, "run", "--config", file], environment: variables)
            #expect(run.text.contains("LAGMONITOR_LOOP_TABLE="), "\(run.text)")
            #expect(variables.keys.allSatisfy { !run.text.contains($0) }, "\(run.text)")
            #expect(run.status == 0 && run.errors.contains("a: the command exited with status 0"))
            // A single wrapped command replaces lagmond in the service, and gets the manager's variables as without lagmond.
            let wrapped = try ProbeRun(ProbeRun.wrapper + ["/usr/bin/env"], environment: variables)
            #expect(variables.keys.allSatisfy { wrapped.text.contains($0) })
        }
    }

    @Test func `lagmond exits when all targets have ended`() throws {
        try withFolder { folder in
            let file = folder + "/c.json"
            let targets = #"{"name": "a", "command": ["true"]}, {"name": "b", "command": ["/bin/sh", "-c", "exit 4"]}"#
            try Self.write(Self.config(folder, targets), file)
            let run = try ProbeRun([ProbeRun.lagmond, "run", "--config", file])
            #expect(run.status == 1 && run.errors.contains("b: the command exited with status 4"), "\(run.errors)")
            #expect(run.errors.contains("all targets have ended"))
        }
    }

    @Test func `a record names its target`() throws {
        try withFolder { folder in
            let file = folder + "/c.json"
            let probe = ProbeRun.probe
            let targets =
                #"{"name": "one", "command": ["\#(probe)", "stall"]}, {"name": "two", "command": ["\#(probe)", "stall"]}"#
            try Self.write(Self.config(folder, targets), file)
            let run = try ProbeRun([ProbeRun.lagmond, "run", "--config", file])
            let lines = withoutRunqueue(text(of: folder + "/stalls").split(separator: "\n"))
            #expect(run.status == 0 && lines.count == 2, "\(run.errors)")
            for name in ["one", "two"] { #expect(lines.count { $0.contains(#""service_name":"\#(name)""#) } == 1) }
        }
    }

    @Test func `SIGHUP reloads the settings and keeps the old ones if the new are invalid`() throws {
        try withFolder { folder in
            let file = folder + "/c.json"
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
            try Self.write(Self.config(folder, target("kept") + "," + target("goes"), http), file)
            let running = try RunningProbe([ProbeRun.lagmond, "run", "--config", file])
            port = try running.port()
            #expect(eventually { pids().count == 2 })
            let before = pids()
            try Self.write(
                Self.config(folder, target("kept", #", "monitor": {"timeouts": 9}"#) + "," + target("comes"), http),
                file
            )
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
            try Self.write(#"{"targets": [{"name": "kept", "comand": ["x"]}]}"#, file)
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
        try withFolder { folder in
            let (file, number) = (folder + "/c.json", folder + "/pid")
            let named = #"{"name": "cache", "pid_file": "\#(number)"}"#
            try Self.write(Self.config(folder, named, #", "http": {"listen": 0}"#), file)
            let running = try RunningProbe([ProbeRun.lagmond, "run", "--config", file])
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
            try Self.write("redis", number)
            _ = try running.complaint(containing: "\"redis\" is not a process ID")
            #expect(health().contains(#""status":"failing","faults":["cache: pid_file:"#), "\(health())")
            kill(running.pid, SIGTERM)
            #expect(try running.end().status == 0)
        }
    }

    @Test func `a process below the command of one target is not attached by another`() throws {
        try withFolder { folder in
            let file = folder + "/c.json"
            let number = folder + "/pid"
            let script = "\(ProbeRun.probe) turn & echo $! > \(number); wait"
            // The shell exits before its child.
            let command = #"{"name": "web", "command": ["/bin/sh", "-c", "\#(script)"], "stop_grace_s": 0.1}"#
            let named = #"{"name": "worker", "pid_file": "\#(number)"}"#
            try Self.write(Self.config(folder, command + "," + named, #", "http": {"listen": 0}"#), file)
            let running = try RunningProbe([ProbeRun.lagmond, "run", "--config", file])
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
            try Self.write(Self.config(folder, command + "," + named + "," + added, #", "http": {"listen": 0}"#), file)
            kill(running.pid, SIGHUP)
            #expect(try running.complaint(containing: "again: process \(pid) \(reason)").hasPrefix("lagmond: targets: again"))
            _ = try running.complaint(containing: "not reloaded")
            kill(running.pid, SIGTERM)
            #expect(try running.end().status == 0)
        }
    }

    @Test(arguments: ["attach", "target"]) func `the loops of a process that was already running are named`(way: String) throws {
        try withFolder { folder in
            let probe = try RunningProbe([ProbeRun.probe, "turn"])
            let file = folder + "/c.json"
            try Self.write(Self.config(folder, #"{"name": "a", "pid": \#(probe.pid)}"#), file)
            let attach = ["attach", "--pid", "\(probe.pid)", "--output", folder + "/stalls"]
            let running = try RunningProbe([ProbeRun.lagmond] + (way == "attach" ? attach : ["run", "--config", file]))
            let label = way == "attach" ? "" : "a: "
            let message = try running.complaint(containing: "watching")
            #expect(message == "lagmond: \(label)watching main of ForeignProbe [\(probe.pid)]")
            kill(running.pid, SIGTERM)
            #expect(try running.end().status == 0)
        }
    }

    @Test func `a hang in one target does not affect the others`() throws {
        try withFolder { folder in
            let file = folder + "/c.json"
            let hang =
                #"{"name": "hangs", "command": ["\#(ProbeRun.probe)", "hang"], "on_hang": "restart", "on_hang_after_s": 0.5,"#
            let bound = #" "restart_delay_ms": 50, "restart_count": 1}"#
            let turn = #"{"name": "turns", "command": ["/bin/sh", "-c", "echo once; exec \#(ProbeRun.probe) turn"]}"#
            try Self.write(Self.config(folder, hang + bound + "," + turn), file)
            let running = try RunningProbe([ProbeRun.lagmond, "run", "--config", file])
            #expect(eventually { text(of: folder + "/stalls").components(separatedBy: #""phase":"abandoned""#).count == 3 })
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
        try withFolder { folder in
            let file = folder + "/c.json"
            try Self.write(Self.config(folder, #"{"name": "z", "command": ["echo", "ran"]}, "# + target), file)
            let run = try ProbeRun([ProbeRun.lagmond, "run", "--config", file])
            #expect(run.status == status && run.output.isEmpty && run.errors.contains(message), "\(run.errors)")
        }
    }

    @Test func `stdout is refused as the output because it belongs to the command`() throws {
        try withFolder { folder in
            let file = folder + "/c.json"
            try Self.write(#"{"output": "-", "targets": [{"name": "a", "command": ["true"]}]}"#, file)
            let run = try ProbeRun([ProbeRun.lagmond, "run", "--config", file])
            #expect(run.status == 78 && run.errors.contains("output.path: stdout and stderr are the command's"), "\(run.errors)")
        }
    }

    @Test(arguments: [
        [:], ["NOTIFY_SOCKET": ""], ["NOTIFY_SOCKET": "relative"], ["NOTIFY_SOCKET": "/" + String(repeating: "a", count: 200)],
    ])
    func `nothing is notified without a valid notify socket`(environment: [String: String]) {
        #expect(ServiceManager(environment) == nil)
    }

    #if arch(x86_64)
        @Test func `a target that ignores SIGTERM is killed, also if the kernel has no pidfd`() throws {
            try withFolder { folder in
                let file = folder + "/c.json"
                let script = "trap '' TERM; echo $$; while :; do sleep 1; done"
                let target = #"{"name": "a", "command": ["/bin/sh", "-c", "\#(script)"], "stop_grace_s": 0.5}"#
                try Self.write(Self.config(folder, target), file)
                // pidfd_open, pidfd_send_signal.
                let denied = [ProbeRun.probe, "deny", "\(ENOSYS)", "434", "424", "--"]
                let running = try RunningProbe(denied + [ProbeRun.lagmond, "run", "--config", file])
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
