internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// Targets that are processes: changed settings while they run, a missing process, and one whose main thread has exited.
@Suite("Processes of targets")
struct TargetProcessTests {
    private static func write(_ text: String, _ path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    @Test(arguments: ["pid", "pid_file"]) func `another threshold restarts the watch of a process`(kind: String) throws {
        try withFolder { folder in
            // It waits after each 40 ms of work.
            let script = """
                import os, select, time
                pipes = os.pipe()[:1] + os.pipe()[:1]
                while True:
                    time.sleep(0.04)
                    select.select(pipes, [], [], 0.02)
                """
            let probe = try RunningProbe(["/usr/bin/env", "python3", "-c", script])
            let (file, number) = (folder + "/c.json", folder + "/pid")
            try Self.write("\(probe.pid)", number)
            let process = kind == "pid" ? "\(probe.pid)" : "\"\(number)\""
            func config(_ threshold: Int) -> String {
                let monitor = #""monitor": {"interval_ms": \#(threshold), "timeouts": 1}"#
                return #"{"output": {"path": "\#(folder)/stalls"}, "#
                    + #""targets": [{"name": "a", "\#(kind)": \#(process), \#(monitor)}]}"#
            }
            try Self.write(config(5000), file)
            let running = try RunningProbe([ProbeRun.lagmond, "run", "--config", file])
            _ = try running.complaint(containing: "watching")
            kill(running.pid, SIGHUP)
            #expect(try running.complaint(containing: "reloaded").hasSuffix("targets: 1 kept"))
            try Self.write(config(10), file)
            kill(running.pid, SIGHUP)
            #expect(try running.complaint(containing: "reloaded").hasSuffix("targets: 1 started, 1 stopped"))
            #expect(eventually { text(of: folder + "/stalls").contains("\"threshold_ms\":10") })
            kill(running.pid, SIGTERM)
            #expect(try running.end().status == 0)
        }
    }

    @Test func `a process file that is a folder is reported as one`() throws {
        try withFolder { folder in
            let file = folder + "/c.json"
            try Self.write(#"{"output": "\#(folder)/stalls", "targets": [{"name": "a", "pid_file": "\#(folder)"}]}"#, file)
            let running = try RunningProbe([ProbeRun.lagmond, "run", "--config", file])
            _ = try running.complaint(containing: "a: pid_file: \(folder): Is a directory; waiting")
            kill(running.pid, SIGTERM)
            #expect(try running.end().status == 0)
        }
    }

    @Test func `a target without its process is shown as waiting, not as given up`() {
        var waiting = TargetStatus(name: "cache", phase: "waiting", isCommand: false, fault: "no such file")
        #expect(TargetList.summary(of: [waiting]) == "; waiting for a process: cache")
        waiting.phase = "ended"
        let commands = [TargetStatus(name: "a", phase: "waiting"), TargetStatus(name: "b", phase: "given_up", fault: "x")]
        #expect(TargetList.summary(of: commands) == "; to be restarted: a; given up: b")
    }

    @Test func `a target whose main thread has exited is killed too`() throws {
        try withFolder { folder in
            let (source, file) = (folder + "/alone.c", folder + "/c.json")
            try Self.write(
                """
                #include <pthread.h>
                #include <signal.h>
                #include <stdio.h>
                #include <unistd.h>
                static void *serve(void *nothing) { for (;;) pause(); }
                int main(void) {
                    pthread_t thread;
                    signal(SIGTERM, SIG_IGN);
                    pthread_create(&thread, NULL, serve, NULL);
                    printf("%d\\n", getpid());
                    fflush(stdout);
                    pthread_exit(NULL);
                }
                """,
                source
            )
            let compiler = try ProbeRun(["/usr/bin/env", "clang", "-pthread", "-o", folder + "/alone", source])
            try #require(compiler.status == 0, "\(compiler.errors)")
            let target = #"{"name": "a", "command": ["\#(folder)/alone"], "stop_grace_s": 0.5}"#
            try Self.write(#"{"output": {"path": "\#(folder)/stalls"}, "targets": [\#(target)]}"#, file)
            let running = try RunningProbe([ProbeRun.lagmond, "run", "--config", file])
            let pid = try #require(running.line().flatMap { Int32($0) })
            #expect(eventually { state(of: pid) == "Z" })
            kill(running.pid, SIGTERM)
            let end = try running.end()
            #expect(kill(pid, 0) != 0, "it runs on")
            kill(pid, SIGKILL)
            #expect(end.status == 0 && end.errors.contains("SIGKILL to all its processes"), "\(end.errors)")
        }
    }
}
