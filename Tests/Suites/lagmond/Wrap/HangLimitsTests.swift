internal import Foundation
internal import LagMonitor
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// Cases without an action on a hang: a command that was asked to exit, a process that has left it, a loop that delays no work.
@Suite("Limits of actions on a hang")
struct HangLimitsTests {
    private static func config(_ folder: String, _ command: String) throws -> String {
        let path = folder + "/c.json"
        try Data(#"{"command": {"on_hang": "restart", "restart_delay_ms": 50, \#(command)}}"#.utf8).write(
            to: URL(fileURLWithPath: path)
        )
        return path
    }

    private static func run(_ config: String, _ folder: String, _ command: [String]) -> [String] {
        [ProbeRun.lagmond, "run", "--config", config, "--output", folder + "/stalls", "--"] + command
    }

    @Test func `a hanging command that was asked to exit is not restarted`() throws {
        try withFolder { folder in
            // At the time of the action, the grace period after the signal is over.
            let config = try Self.config(folder, #""stop_grace_s": 0.3, "restart_count": 1, "on_hang_after_s": 2"#)
            let running = try RunningProbe(
                Self.run(config, folder, ["/bin/sh", "-c", "trap '' TERM; exec \(ProbeRun.probe) hang"])
            )
            #expect(eventually { KillEvidenceTests.isKept(folder + "/.stalls.unfinished") })
            kill(running.pid, SIGTERM)
            let end = try running.end()
            #expect(end.signal == SIGKILL && end.errors.contains("stopping the command"), "\(end.errors)")
            #expect(!end.errors.contains("restarting it") && !end.text.dropFirst(10).contains("hanging"), "\(end.errors)")
        }
    }

    /// Times are injected.
    @Test func `a request to exit applies to a hang that it caused but not to a later one`() throws {
        let exit = WrappedProcess.Termination.killed(SIGKILL)
        let start = MonotonicTime.now
        func next(_ signal: Int32, hang seconds: Int64) throws -> CommandLifecycle.Next {
            let lifecycle = CommandLifecycle(label: "", policy: CommandPolicy(onHang: .restart, stopGrace: .seconds(1)))
            lifecycle.recordEndSignal(signal, at: start)
            let command = WrappedCommand(words: ["/bin/true"])
            let program = try command.locate(path: nil)
            let process = try WrappedProcess.start(command, program, environment: .current(), signals: .take())
            lifecycle.started(process)
            _ = lifecycle.restart(because: "", began: start + .seconds(seconds))
            while process.ended() == nil { usleep(1000) }
            return lifecycle.ended(exit, at: start + .seconds(100))
        }
        #expect(try next(SIGTERM, hang: -50) == .finish(exit))
        #expect(try next(SIGINT, hang: 1) == .finish(exit))
        #expect(try next(SIGTERM, hang: 50) != .finish(exit))
        // SIGQUIT is also used to get the stacks of a hanging process.
        #expect(try next(SIGQUIT, hang: -50) != .finish(exit))
    }

    @Test func `a process that has left the command does not restart it by a hang`() throws {
        try withFolder { folder in
            let config = try Self.config(folder, #""restart_count": 1, "on_hang_after_s": 0.5"#)
            let number = folder + "/number"
            // It has inherited descriptors that `ProbeRun` reads to their end.
            let end = "kill -9 $(sed 's/.* //' \(number))"
            let script = "(\(ProbeRun.probe) hang > \(number) 2>&1 &); echo once; sleep 4; \(end)"
            let run = try ProbeRun(Self.run(config, folder, ["/bin/sh", "-c", script]))
            #expect(run.status == 0 && run.text == "once\n", "\(run.errors)")
            #expect(run.errors.contains("no action taken: it has left the command"), "\(run.errors)")
        }
    }

    @Test func `a hanging target that is being stopped has ended when lagmond exits`() throws {
        try withFolder { folder in
            let file = folder + "/c.json"
            let command = #"["/bin/sh", "-c", "trap '' TERM; exec \#(ProbeRun.probe) hang"]"#
            // Longer than lagmond waits for a command that has ended.
            let policy = #""on_hang": "restart", "on_hang_after_s": 0.5, "stop_grace_s": 11.5"#
            let text =
                #"{"output": {"path": "\#(folder)/stalls"}, "targets": [{"name": "a", "command": \#(command), \#(policy)}]}"#
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            let running = try RunningProbe([ProbeRun.lagmond, "run", "--config", file])
            let pid = try #require(running.line().flatMap { Int32($0.dropFirst("hanging ".count)) })
            _ = try running.complaint(containing: "stopping the command")
            kill(running.pid, SIGTERM)
            let end = try running.end()
            #expect(kill(pid, 0) != 0 || state(of: pid) == "Z")
            kill(pid, SIGKILL)
            #expect(end.status == 0 && end.errors.contains("SIGKILL to all its processes"), "\(end.errors)")
        }
    }

    @Test(arguments: ["State:\tT (stopped)", "TracerPid:\t1", "CoreDumping:\t1"])
    func `time during which a thread is stopped, traced or dumped is not a hang`(line: String) {
        let rest = "\nThreads:\t1\nvoluntary_ctxt_switches:\t7\n"
        let held = HangMeter.Reading.status(in: line + rest)
        #expect(held.isHeld && held.isAlone && held.sleeps == 7)
        let free = HangMeter.Reading.status(in: "State:\tS (sleeping)\nTracerPid:\t0\nCoreDumping:\t0" + rest)
        #expect(!free.isHeld && free.isAlone && free.sleeps == 7)
        #expect(!free.isRunnable && HangMeter.Reading.status(in: "State:\tR (running)" + rest).isRunnable)
    }

    // MARK: Loops that iterate

    /// Watched from outside, with and without a counter: an iteration has thousands of calls, with the same event ready.
    @Test(arguments: ["turns", "hangs"]) func `a busy loop that continues to iterate does not hang`(what: String)
        async throws
    {
        try await atOnce([true, false]) { isCounted in try Self.expectTurns(what, isCounted: isCounted) }
    }

    private static func expectTurns(_ what: String, isCounted: Bool) throws {
        try withFolder { folder in
            let source = folder + "/busy.c"
            try Data(
                """
                #include <string.h>
                #include <sys/epoll.h>
                #include <sys/ioctl.h>
                #include <sys/syscall.h>
                #include <time.h>
                #include <unistd.h>
                int main(int count, char **arguments) {
                    int requests[2], set = epoll_create1(0);
                    if (pipe(requests) != 0) return 1;
                    struct epoll_event event = {.events = EPOLLIN};
                    epoll_ctl(set, EPOLL_CTL_ADD, requests[0], &event);
                    for (int input = 0; input == 0; ioctl(0, FIONREAD, &input)) epoll_wait(set, &event, 1, 10);
                    if (write(requests[1], "x", 1) != 1) return 1;
                    for (time_t end = time(NULL) + 4; time(NULL) < end;) {
                        epoll_wait(set, &event, 1, -1);
                        if (strcmp(arguments[1], "hangs") == 0) for (volatile int turn = 0;; turn++) continue;
                        for (int call = 0; call < 20000; call++) syscall(SYS_getppid);
                    }
                    return 7;
                }
                """.utf8
            ).write(to: URL(fileURLWithPath: source))
            let compiler = try ProbeRun(["/usr/bin/env", "clang", "-O1", "-static", "-o", folder + "/busy", source])
            try #require(compiler.status == 0, "\(compiler.errors)")
            #if arch(x86_64)
                let perfEventOpen = "298"
            #else
                let perfEventOpen = "241"
            #endif
            let denied = isCounted ? [] : [ProbeRun.probe, "deny", "\(EACCES)", perfEventOpen, "--"]
            let running = try RunningProbe(
                denied + [
                    ProbeRun.lagmond, "run", "--on-hang", "signal:KILL", "--on-hang-after", "1", "--output", folder + "/stalls",
                    "--",
                    folder + "/busy", what,
                ]
            )
            // On a busy machine, its loop is found late.
            _ = try running.complaint(containing: "watching main of busy")
            let run = try running.end(input: Data("\n".utf8))
            if what == "hangs" {
                #expect(run.signal == SIGKILL && run.hungSeconds >= 1, "\(run.errors)")
            } else {
                #expect(run.status == 7 && !run.errors.contains("hanging"), "\(run.errors)")
            }
        }
    }

    /// Two processes wait with `select` for one listening socket, where more clients wait than they serve at a time. One or both
    /// of them serve a client that does not read.
    private static let server = """
        import os, select, socket, sys, time

        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        listener.setblocking(False)
        children = []

        def child(work):
            pid = os.fork()
            if pid != 0:
                children.append(pid)
                return
            try: work()
            finally: os._exit(1)

        def work():
            pipe, _ = os.pipe()
            while True:
                select.select([listener, pipe], [], [])
                try: client, _ = listener.accept()
                except BlockingIOError: continue
                client.setblocking(True)
                if client.recv(9) == b"long":
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
                    client.sendall(b"x" * 50_000_000)
                time.sleep(0.005)
                client.send(b"x")
                client.close()

        def ask(word):
            client = socket.create_connection(listener.getsockname())
            client.send(word)
            return client

        def load():
            while True: ask(b"short").recv(1)

        for _ in range(2): child(work)
        time.sleep(1)
        for _ in range(6): child(load)
        time.sleep(0.5)
        slow = [ask(b"long") for _ in range(int(sys.argv[1]))]
        time.sleep(4)
        for pid in children: os.kill(pid, 9)
        """

    @Test(.enabled(if: access("/usr/bin/python3", X_OK) == 0, "no python3 on this machine"))
    func `clients that another process accepts are not work for the one that hangs`() async throws {
        try await atOnce([1, 2]) { slow in try Self.expectServer(slow: slow) }
    }

    private static func expectServer(slow: Int) throws {
        try withFolder { folder in
            let script = folder + "/server.py"
            try Data(Self.server.utf8).write(to: URL(fileURLWithPath: script))
            let config = try Self.config(folder, #""stop_grace_s": 0.5, "restart_count": 0, "on_hang_after_s": 1.5"#)
            let run = try ProbeRun(Self.run(config, folder, ["/usr/bin/python3", script, "\(slow)"]))
            #expect(run.errors.contains("stopping the command") == (slow == 2), "\(run.errors)")
            #expect(run.status == (slow == 2 ? -1 : 0), "\(run.errors)")
            let hasWork = text(of: folder + "/stalls").contains("while work waited")
            #expect(hasWork == (slow == 2), "\(text(of: folder + "/stalls"))")
        }
    }
}
