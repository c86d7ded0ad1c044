internal import CLagBeacon
internal import CLagRemote
internal import Foundation
internal import TestSupport
internal import Testing

@Suite("A command below `lagmond run --`")
struct WrappedCommandTests {
    @Test(arguments: [0, 1, 7, 126, 255])
    func `lagmond exits with the exit status of the command`(status: Int32) throws {
        let run = try ProbeRun(ProbeRun.wrapper + [ProbeRun.probe, "exit", "\(status)"])
        #expect(run.status == status && run.signal == 0 && run.output.isEmpty && run.errors == ProbeRun.summary)
    }

    @Test(arguments: [SIGTERM, SIGKILL, SIGSEGV, SIGABRT, SIGINT, SIGHUP, SIGUSR1, SIGPROF, SIGPIPE])
    func `a signal that kills the command also kills lagmond`(signal: Int32) throws {
        let run = try ProbeRun(ProbeRun.wrapper + [ProbeRun.probe, "kill", "\(signal)"])
        #expect(run.signal == signal && run.output.isEmpty && run.errors == ProbeRun.summary)
    }

    /// One 4-byte store into the shared table once ended lagmond and every sibling process.
    @Test func `a process that writes invalid data into the shared table does not end other processes`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("hostile-\(UUID().uuidString).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let run = try ProbeRun([ProbeRun.lagmond, "run", "--output", path, "--", ProbeRun.probe, "hostile"])
        #expect(run.status == 0 && run.signal == 0, "\(run.errors)")
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count { $0.contains(#""event":"stall""#) && $0.contains("honest_stall") } >= 3, "\(lines)")
    }

    @Test func `data passes through the command unchanged`() throws {
        let data = Data((0..<1_000_003).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
        let run = try ProbeRun(ProbeRun.wrapper + ["cat"], input: data)
        #expect(run.output == data && run.errors == ProbeRun.summary && run.status == 0)
    }

    @Test func `the command sees the same environment as without lagmond`() throws {
        let facts = [ProbeRun.probe, "facts", "a b", "", "--", "--output=x", "ä\n"]
        // Through nohup, so that there are ignored signals to inherit. Both runs have the same harness; only lagmond differs.
        let bare = try ProbeRun([ProbeRun.probe, "nohup"] + facts)
        let wrapped = try ProbeRun([ProbeRun.probe, "nohup"] + ProbeRun.wrapper + facts)
        #expect(bare.status == 0 && bare.text.contains("listen mine") && bare.text.contains("descriptor 9\n"))
        let isOwnGroup = { (line: Substring) in line.hasPrefix("group ") }
        #expect(
            wrapped.text.split(separator: "\n").filter { !isOwnGroup($0) }
                == bare.text.split(separator: "\n").filter { !isOwnGroup($0) }
        )
        #expect(wrapped.errors == ProbeRun.summary)
    }

    @Test func `the command is in the process group and session of lagmond`() throws {
        // The shell keeps running, so it shows which group the command must have.
        let script = "ps -o pgid=,sid= -p $$; \(ProbeRun.wrapper.joined(separator: " ")) ps -o pgid=,sid= -p $$; exit 0"
        let shell = try ProbeRun(["/bin/sh", "-c", script])
        let lines = shell.text.split(separator: "\n")
        #expect(lines.count == 2 && lines.first == lines.last)
        let facts = try ProbeRun([
            "/bin/sh", "-c", "\(ProbeRun.wrapper.joined(separator: " ")) \(ProbeRun.probe) facts; ps -o pgid= -p $$",
        ])
        let group = facts.text.split(separator: "\n").last.map { $0.filter { $0 != " " } } ?? ""
        #expect(facts.text.contains("group \(group) "))
    }

    @Test func `an interactive shell sees no difference to the bare command`() throws {
        let command = [ProbeRun.probe, "signals"]
        let bare = try ProbeRun([ProbeRun.probe, "shell"] + command)
        let wrapped = try ProbeRun([ProbeRun.probe, "shell"] + ProbeRun.wrapper + command)
        #expect(bare.status == 0 && bare.text.contains("in all: 1 interrupts, 1 quits, 1 sizes"))
        #expect(bare.text.contains("job stopped by \(SIGTSTP)") && bare.text.contains("job ended with 42"))
        #expect(wrapped.text == bare.text && wrapped.status == 0, "\(wrapped.text)")
    }

    @Test func `signals sent only to lagmond reach the command once`() throws {
        let running = try RunningProbe(ProbeRun.wrapper + [ProbeRun.probe, "signals"])
        try #require(running.line() == "ready")
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGIO, 34, 50, 64] {
            #expect(kill(running.pid, signal) == 0)
            #expect(running.line() == "signal \(signal)")
        }
        #expect(sigqueue(running.pid, 40, sigval(sival_int: 4711)) == 0)
        #expect(running.line() == "signal 40 value 4711")
        kill(running.pid, SIGTERM)
        // No signal arrived twice: the next line is for this one.
        #expect(running.line() == "signal 15")
        let end = try running.end()
        #expect(end.status == 42 && end.errors == ProbeRun.summary)
    }

    @Test func `lagmond keeps running if the command is stopped by another process`() throws {
        let running = try RunningProbe(ProbeRun.wrapper + ["/bin/sh", "-c", "echo $$; exec \(ProbeRun.probe) signals"])
        let child = try #require(running.line().flatMap { Int32($0) })
        try #require(running.line() == "ready")
        kill(child, SIGSTOP)
        #expect(eventually { state(of: child) == "T" })
        usleep(200_000)
        #expect(state(of: running.pid) != "T")
        // Sent to lagmond, meant for the command.
        kill(running.pid, SIGCONT)
        #expect(running.line() == "signal 18")
        kill(running.pid, SIGTERM)
        #expect(running.line() == "signal 15")
        #expect(try running.end().status == 42)
    }

    @Test func `a signal ignored by the command does not end lagmond between two runs`() throws {
        try withFolder { folder in
            let config = folder + "/c.json"
            try Data(#"{"command": {"restart": "on-failure", "restart_delay_ms": 2000, "restart_count": 1}}"#.utf8)
                .write(to: URL(fileURLWithPath: config))
            // As with nohup(1); the command inherits it.
            let script = "trap '' HUP; exec \(ProbeRun.lagmond) run --config \(config) -- /bin/sh -c 'echo ran; exit 3'"
            let running = try RunningProbe(["/bin/sh", "-c", script])
            _ = try running.complaint(containing: "restarting it")
            kill(running.pid, SIGHUP)
            let end = try running.end()
            #expect(end.status == 3 && end.text == "ran\nran\n", "\(end.errors)")
        }
    }

    @Test func `a command that does not exist gives status 127`() throws {
        for name in ["no-such-command-anywhere", "/nowhere/command"] {
            let run = try ProbeRun(ProbeRun.wrapper + [name])
            #expect(run.status == 127 && run.output.isEmpty && run.errors.contains(name))
        }
    }

    @Test func `a command that cannot be executed gives status 126`() throws {
        for path in ["/etc/passwd", "/tmp"] {
            let run = try ProbeRun(ProbeRun.wrapper + [path])
            #expect(run.status == 126 && run.output.isEmpty && run.errors.contains(path))
        }
    }

    @Test func `a script without an interpreter line is run by the shell`() throws {
        let script = FileManager.default.temporaryDirectory.appendingPathComponent("wrapped-\(getpid())")
        defer { try? FileManager.default.removeItem(at: script) }
        try Data("echo \"$1\"; exit 3\n".utf8).write(to: script)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script.path)
        let run = try ProbeRun(ProbeRun.wrapper + [script.path, "a b"])
        #expect(run.status == 3 && run.text == "a b\n")
    }

    @Test(arguments: [
        (["--duration", "1"], "option --duration: without effect on a command (allowed: only without a command)"),
        (["--on-hang-after", "3"], "option --on-hang-after: without effect while command.on_hang is report"),
        (["--on-hang", "signal:NO"], "option --on-hang: \"signal:NO\" is not an action; allowed: report, signal:NAME"),
        (["--on-hang", "restart", "--rules", "starvation"], "option --on-hang: without the rule callout"),
        (["--output", "-"], "option --output: stdout and stderr are the command's (allowed: a path or file:PATH, journald or "),
        (["--output", "/dev/stdout"], "option --output: stdout and stderr are the command's"),
        (["--output", "stderr"], "option --output: messages go to stderr, lines do not (a file of that name is file:stderr)"),
        (["--max-bytes", "64M"], "option --max-bytes: \"64M\" is not a whole number; allowed: "),
        (["--interval-ms", "1.5"], "option --interval-ms: \"1.5\" is not a whole number; allowed: "),
        (["--on-hang-after", "soon"], "option --on-hang-after: \"soon\" is not a number; allowed: "),
        (["--rules", "ping"], "option --rules: another program's loops can neither be pinged"),
    ])
    func `options that do not apply to a command are refused`(options: [String], reason: String) throws {
        let run = try ProbeRun([ProbeRun.lagmond, "run"] + options + ["--", "/bin/echo", "ran"])
        #expect(run.status == 78 && run.output.isEmpty && run.errors.contains(reason), "\(run.errors)")
    }

    @Test func `a missing command after the dashes is a usage error`() throws {
        let run = try ProbeRun([ProbeRun.lagmond, "run", "--"])
        #expect(run.status == 64 && run.errors.contains("--: no command follows"))
    }

    @Test func `a command without a stall leaves no file`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let run = try ProbeRun(["/bin/sh", "-c", "cd \(folder.path) && exec \(ProbeRun.wrapper.joined(separator: " ")) ls -a"])
        #expect(run.text == ".\n..\n")
    }

    /// A monitor in the command would write the same stalls to the same output.
    @Test func `the command does not inherit the settings of lagmond`() throws {
        let environment = ["LAGMONITOR_OUTPUT_PATH": "/dev/null", "LAGMONITOR_MONITOR_INTERVAL_MS": "40"]
        let run = try ProbeRun(ProbeRun.wrapper + ["/usr/bin/env"], environment: environment)
        let names = run.text.split(separator: "\n").filter { $0.hasPrefix("LAGMONITOR_") }.map { $0.prefix { $0 != "=" } }
        #expect(run.status == 0 && names == ["LAGMONITOR_LOOP_TABLE"], "\(names)")
    }

    @Test func `a daemon that outlives the command is named`() async throws {
        try await atOnce([([], 0), (["--require-watch"], 69)]) { try Self.expectDaemon(options: $0, status: $1) }
    }

    private static func expectDaemon(options: [String], status: Int32) throws {
        // Foundation waits until the started processes have closed all inherited descriptors.
        let script = "sleep 10 </dev/null >/dev/null 2>&1 & echo $!"
        let run = try ProbeRun([ProbeRun.lagmond, "run"] + options + ["--", "/bin/sh", "-c", script])
        let daemon = try #require(Int32(run.text.dropLast()))
        kill(daemon, SIGKILL)
        #expect(run.status == status, "\(run.errors)")
        #expect(
            run.errors.contains("sleep [\(daemon)] keeps running after the command's end, unwatched: "),
            "\(run.errors)"
        )
        #expect(run.errors.contains("lagmond attach --pid \(daemon)\n"), "\(run.errors)")
    }

    @Test func `a preloaded library of the user stays first`() throws {
        let run = try ProbeRun(ProbeRun.wrapper + ["/usr/bin/env"], environment: ["LD_PRELOAD": "libm.so.6"])
        let line = try #require(run.text.split(separator: "\n").first { $0.hasPrefix("LD_PRELOAD=") })
        #expect(line.hasPrefix("LD_PRELOAD=libm.so.6:/") && line.hasSuffix("/liblagmonitor-preload.so"))
        #expect(run.text.contains("\nLAGMONITOR_LOOP_TABLE=/proc/"))
    }

    private static let perl = "/usr/bin/perl"

    @Test(.enabled(if: access(perl, X_OK) == 0, "needs perl"))
    func `a program that waits for time alone is not counted as a loop`() throws {
        let run = try ProbeRun(ProbeRun.wrapper + [Self.perl, "-e", "select(undef, undef, undef, 0.1) for 1..30"])
        #expect(run.status == 0 && run.errors.hasSuffix("; watched loops: 0\n"), "\(run.errors)")
    }

    @Test func `the loop of the command is in the shared loop table`() throws {
        let probe = ProbeRun.folder.appendingPathComponent("ForeignProbe").path
        let script = "echo $LAGMONITOR_LOOP_TABLE; exec \(probe) waits loop"
        let running = try RunningProbe(ProbeRun.wrapper + ["/bin/sh", "-c", script])
        let path = try #require(running.line())
        let word = try #require(running.line()).split(separator: " ").compactMap { Int32($0) }
        // Any process that has the path can open the table; it has only one slot in use.
        let page = try #require(clb_loop_table_open(path))
        defer { munmap(page, clb_loop_table_bytes()) }
        var loop = clr_loop_table_entry()
        #expect(clr_loop_table_read(page, 0, &loop) != 0 && [loop.pid, loop.tid] == word)
        #expect(page.pointee.parent_pid == running.pid)
        let end = try running.end(input: Data("\n".utf8))
        #expect(
            end.status == 0 && end.errors.contains("stalls=0 reported=0 dropped=0 suppressed=0; watched loops: 1\n"),
            "\(end.errors)"
        )
        // The program exited without freeing its slot; lagmond freed it before its own exit.
        #expect(clb_claim_state(clb_loop_table_claim(page, 0)) == UInt32(CLB_SLOT_FREE))
        #expect(clb_claim_pid(clb_loop_table_claim(page, 0)) == loop.pid)
    }
}

func state(of pid: pid_t) -> String {
    let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    return text.split(separator: ")").last.map { String($0.dropFirst().prefix(1)) } ?? ""
}
