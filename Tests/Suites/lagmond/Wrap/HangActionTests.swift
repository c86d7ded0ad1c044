internal import Foundation
internal import TestSupport
internal import Testing

@Suite("Actions on a hang")
struct HangActionTests {
    private static func lines(_ path: String, _ phase: String) -> Int {
        text(of: path).split(separator: "\n").count { $0.contains("\"phase\":\"\(phase)\"") }
    }

    @Test func `nothing is done about a hang by default`() throws {
        try withFolder { folder in
            let output = folder + "/stalls"
            let running = try RunningProbe([
                ProbeRun.lagmond, "run", "--hang-after-ms", "300", "--output", output, "--", ProbeRun.probe, "hang",
            ])
            #expect(eventually { Self.lines(output, "begin") == 1 })
            sleep(2)
            #expect(kill(running.pid, 0) == 0 && state(of: running.pid) != "Z")
            kill(running.pid, SIGTERM)
            #expect(try running.end().signal == SIGTERM)
        }
    }

    @Test func `the signal is sent once to the process that hangs`() throws {
        try withFolder { folder in
            let output = folder + "/stalls"
            // The process ignores SIGWINCH, so a second one would be noticed.
            let running = try RunningProbe([
                ProbeRun.lagmond, "run", "--on-hang", "signal:WINCH", "--on-hang-after", "0.5", "--output", output, "--",
                "/bin/sh", "-c", "\(ProbeRun.probe) hang; exit 7",
            ])
            let pid = try #require(running.line().flatMap { Int32($0.dropFirst("hanging ".count)) })
            #expect(eventually { Self.lines(output, "begin") == 1 })
            sleep(2)
            kill(pid, SIGTERM)
            let end = try running.end()
            #expect(end.status == 7)
            let lines = end.errors.split(separator: "\n").filter { $0.contains("sent it SIGWINCH") }
            #expect(lines.count == 1 && lines[0].contains("ForeignProbe (\(pid)) has been hanging in main for"), "\(end.errors)")
        }
    }

    @Test func `a command that hangs is restarted until the restart limit`() throws {
        try withFolder { folder in
            let output = folder + "/stalls"
            let config = folder + "/c.json"
            try Data(
                #"{"command": {"restart_delay_ms": 50, "restart_count": 2, "on_hang": "restart", "on_hang_after_s": 0.5}}"#.utf8
            )
            .write(to: URL(fileURLWithPath: config))
            let run = try ProbeRun([
                ProbeRun.lagmond, "run", "--config", config, "--output", output, "--", ProbeRun.probe, "hang",
            ])
            // The status is that of the command's last exit.
            #expect(run.signal == SIGTERM, "\(run.errors)")
            #expect(run.text.split(separator: "\n").count == 3)
            #expect(Set(run.text.split(separator: "\n")).count == 3)
            #expect(run.errors.components(separatedBy: "restarting it in").count == 3, "\(run.errors)")
            #expect(
                run.errors.contains(
                    "giving up on the command: it was killed by SIGTERM, and was restarted 2 times within 10 min"
                )
            )
            // Each hang is reported before the process is stopped, and a second line has its duration.
            #expect(Self.lines(output, "begin") == 3 && Self.lines(output, "abandoned") == 3, "\(text(of: output))")
        }
    }

    @Test func `a worker that outlives its stopped master is killed`() throws {
        try withFolder { folder in
            let config = folder + "/c.json"
            let command = #"{"stop_grace_s": 1, "restart_count": 0, "on_hang": "restart", "on_hang_after_s": 0.5}"#
            try Data(#"{"command": \#(command)}"#.utf8).write(to: URL(fileURLWithPath: config))
            let running = try RunningProbe([
                ProbeRun.lagmond, "run", "--config", config, "--output", folder + "/stalls", "--", ProbeRun.probe, "master",
            ])
            let worker = try #require(running.line().flatMap { Int32($0.dropFirst("worker ".count)) })
            let end = try running.end()
            #expect(end.signal == SIGTERM)
            #expect(end.errors.contains("SIGKILL to all its processes"), "\(end.errors)")
            #expect(eventually { kill(worker, 0) != 0 || state(of: worker) == "Z" })
        }
    }

    @Test func `a stopped command does not count as hanging`() throws {
        try withFolder { folder in
            let running = try RunningProbe([
                ProbeRun.lagmond, "run", "--on-hang", "signal:KILL", "--on-hang-after", "3", "--output", folder + "/stalls",
                "--",
                ProbeRun.probe, "hang",
            ])
            let pid = try #require(running.line().flatMap { Int32($0.dropFirst("hanging ".count)) })
            // It is in the handler for part of the time.
            usleep(500_000)
            kill(pid, SIGSTOP)
            sleep(4)
            #expect(kill(pid, 0) == 0 && state(of: pid) == "T")
            kill(pid, SIGCONT)
            // It hangs for the rest of the time.
            #expect(eventually { kill(pid, 0) != 0 })
            #expect(try running.end().signal == SIGKILL)
        }
    }

    @Test func `a command that fails is restarted if the setting asks for it`() throws {
        try withFolder { folder in
            let config = folder + "/c.json"
            try Data(#"{"command": {"restart": "on-failure", "restart_delay_ms": 20, "restart_count": 3}}"#.utf8)
                .write(to: URL(fileURLWithPath: config))
            let options = [ProbeRun.lagmond, "run", "--config", config, "--"]
            let failing = try ProbeRun(options + ["/bin/sh", "-c", "echo x; exit 5"])
            #expect(failing.status == 5 && failing.text == "x\nx\nx\nx\n" && failing.errors.contains("giving up on the command"))
            #expect(try ProbeRun(options + ["/bin/sh", "-c", "echo x"]).text == "x\n")
            // A command that was stopped on purpose is not restarted.
            let asked = try RunningProbe(options + ["/bin/sh", "-c", "trap 'exit 9' TERM; echo x; while :; do sleep 0.05; done"])
            #expect(asked.line() == "x")
            kill(asked.pid, SIGTERM)
            let end = try asked.end()
            #expect(end.status == 9 && end.text.isEmpty, "\(end.errors)")
        }
    }

    @Test func `a statically linked program that hangs is signalled too`() throws {
        try withFolder { folder in
            let source = folder + "/static.c"
            try Data(
                """
                #include <poll.h>
                #include <stdio.h>
                #include <sys/socket.h>
                #include <sys/un.h>
                #include <unistd.h>
                int main(void) {
                    int stop[2], listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
                    struct sockaddr_un address = {.sun_family = AF_UNIX};
                    socklen_t length = sizeof(address);
                    // Without a name the kernel gives one (unix(7), autobind).
                    if (pipe(stop) != 0 || bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)) != 0) return 1;
                    if (listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&address, &length) != 0) return 1;
                    struct pollfd some[2] = {{.fd = listener, .events = POLLIN}, {.fd = stop[0], .events = POLLIN}};
                    for (int turn = 0; turn < 100; turn++) poll(some, 2, 10);
                    if (connect(client, (struct sockaddr *)&address, length) != 0) return 1;
                    printf("hanging %d\\n", getpid());
                    fflush(stdout);
                    for (;;) sleep(1000);
                }
                """.utf8
            ).write(to: URL(fileURLWithPath: source))
            let compiler = try ProbeRun(["/usr/bin/env", "clang", "-static", "-o", folder + "/static", source])
            try #require(compiler.status == 0, "\(compiler.errors)")
            let running = try RunningProbe([
                ProbeRun.lagmond, "run", "--on-hang", "signal:KILL", "--on-hang-after", "0.5", "--output", folder + "/stalls",
                "--",
                folder + "/static",
            ])
            let pid = try #require(running.line().flatMap { Int32($0.dropFirst("hanging ".count)) })
            let isGone = eventually { kill(pid, 0) != 0 || state(of: pid) == "Z" }
            if !isGone { kill(pid, SIGTERM) }
            let end = try running.end()
            #expect(isGone && end.signal == SIGKILL && end.errors.contains("watched from outside"), "\(end.errors)")
            #expect(end.errors.contains("static (\(pid)) has been hanging in main for"), "\(end.errors)")
            #expect(Self.lines(folder + "/stalls", "begin") == 1 && Self.lines(folder + "/stalls", "abandoned") == 1)
        }
    }

    /// 2: an entry of a monitor in the program itself; 1: an entry of a loop that was found by its waits.
    @Test(.enabled(if: geteuid() == 0, "needs root"))
    func `a loop table forged by an unprivileged worker leads to no action`() async throws {
        let cases = ["2", "1"].flatMap { kind in ["signal:USR2", "restart"].map { (kind, $0) } }
        try await atOnce(cases) { kind, action in
            try withFolder { folder in
                let run = try ProbeRun([
                    ProbeRun.lagmond, "run", "--on-hang", action, "--on-hang-after", "0.5", "--output", folder + "/stalls", "--",
                    ProbeRun.probe, "forge", kind,
                ])
                #expect(run.status == 7 && run.text == "forged\n", "\(run.errors)")
                #expect(!run.errors.contains("sent it") && !run.errors.contains("stopping the command"), "\(run.errors)")
                // It was reported as a loop that hangs.
                #expect(text(of: folder + "/stalls").contains("forged"), "\(run.errors)")
            }
        }
    }

    /// A process of another user could have written into the table that the loop hangs. The kernel confirms the hang only of a
    /// thread that sleeps.
    @Test(.enabled(if: geteuid() == 0, "needs root"))
    func `beside a process of another user, only a hang that the kernel confirms leads to an action`() async throws {
        try await atOnce(["hang", "burn-briefly"]) { name in try Self.expectShown(name: name) }
    }

    private static func expectShown(name: String) throws {
        try withFolder { folder in
            let stranger = "setpriv --reuid=65534 --clear-groups sleep 9 >/dev/null 2>&1 &"
            let run = try ProbeRun([
                ProbeRun.lagmond, "run", "--on-hang", "signal:KILL", "--on-hang-after", "2", "--output", folder + "/stalls", "--",
                "/bin/sh", "-c", "\(stranger) exec \(ProbeRun.probe) places \(name)",
            ])
            if name == "hang" {
                #expect(run.signal == SIGKILL && run.hungSeconds >= 2, "\(run.errors)")
            } else {
                // On a busy machine it does not compute for long enough.
                let hangs = run.errors.contains("has been hanging")
                #expect(run.signal != SIGKILL && hangs == run.errors.contains("no action taken: process"), "\(run.errors)")
            }
        }
    }

    @Test func `a proved hang leads to the action`() async throws {
        try await atOnce(["hang", "burn"]) { name in
            try withFolder { folder in
                let run = try ProbeRun([
                    ProbeRun.lagmond, "run", "--on-hang", "signal:KILL", "--on-hang-after", "2", "--output", folder + "/stalls",
                    "--",
                    ProbeRun.probe, "places", name,
                ])
                #expect(run.signal == SIGKILL && run.hungSeconds >= 2, "\(run.errors)")
            }
        }
    }

    @Test func `a thread without waiting work leads to no action`() async throws {
        try await atOnce(["idle", "pool-peer", "pool-epoll"]) { name in
            try withFolder { folder in
                let run = try ProbeRun([
                    ProbeRun.lagmond, "run", "--on-hang", "signal:KILL", "--on-hang-after", "0.5", "--output", folder + "/stalls",
                    "--", ProbeRun.probe, "places", name,
                ])
                #expect(run.status == 0 && run.signal == 0 && !run.errors.contains("hanging"), "\(name): \(run.errors)")
            }
        }
    }
}
