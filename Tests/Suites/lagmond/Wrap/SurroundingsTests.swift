internal import Foundation
internal import LagMonitor
internal import TestSupport
internal import Testing

/// Machines that lack something usual: the command still runs, and what is missing is reported.
@Suite("Unusual environments")
struct SurroundingsTests {
    private static let echo = ["/bin/echo", "ran"]

    /// A run below a command that removes something.
    private static func run(_ surroundings: [String], options: [String] = [], _ command: [String] = echo) throws -> ProbeRun {
        try ProbeRun(surroundings + [ProbeRun.lagmond, "run", "--output", "/dev/null"] + options + ["--"] + command)
    }

    // MARK: /proc

    private static let withoutProc = [
        "/usr/bin/unshare", "--mount", "/bin/sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh",
    ]
    private static let canHideProc = (try? ProbeRun(withoutProc + ["/bin/true"]))?.status == 0

    @Test(.enabled(if: canHideProc, "needs a mount namespace")) func `without proc the command runs and is not watched`() throws {
        let run = try Self.run(Self.withoutProc)
        #expect(run.status == 0 && run.text == "ran\n")
        #expect(run.errors.contains("lagmond: not watched: ") && run.errors.contains("/proc is not there"), "\(run.errors)")
        // The summary of a workload, which is about lagmond's own main thread, has another end.
        #expect(run.errors.hasSuffix("; watched loops: 0\n"), "\(run.errors)")
    }

    @Test(.enabled(if: canHideProc, "needs a mount namespace"))
    func `without proc a command that requires watching does not run`() throws {
        let run = try Self.run(Self.withoutProc, options: ["--require-watch"])
        #expect(run.status == 69 && run.text.isEmpty)
        #expect(run.errors.contains("--require-watch: the command does not run") && run.errors.contains("/proc"), "\(run.errors)")
    }

    /// lagmond in a new PID namespace; `/proc` is that of the outer one, where the same PIDs belong to other processes.
    private static let besideProc = ["/usr/bin/unshare", "--pid", "--fork"]

    /// Nothing is reported about the process with the command's PID there, or about its children.
    @Test(.enabled(if: canBeFirst, "needs a PID namespace")) func `the proc of another PID namespace is not used`() throws {
        let run = try Self.run(Self.besideProc, ["/bin/sh", "-c", "sleep 6; echo ran"])
        #expect(run.status == 0 && run.text == "ran\n", "\(run.status)")
        #expect(
            run.errors.contains("lagmond: not watched: no shared loop table: /proc is of another pid namespace"),
            "\(run.errors)"
        )
        #expect(run.errors.contains("/proc does not show it") && run.errors.split(separator: "\n").count == 2, "\(run.errors)")
        let refused = try Self.run(Self.besideProc, options: ["--require-watch"])
        #expect(refused.status == 69 && refused.text.isEmpty, "\(refused.status) \(refused.errors)")
    }

    // MARK: Limits and filters

    /// At one of the limits, each of lagmond's threads is the one that cannot be created, and so is the command.
    @Test(.enabled(if: geteuid() == 0, "needs a user without other processes"), arguments: 1...12)
    func `the run ends if lagmond cannot create threads`(limit: Int) throws {
        let user = "54\(100 + limit)"
        let surroundings = [
            "/usr/bin/prlimit", "--nproc=\(limit)", "/usr/bin/setpriv", "--reuid=\(user)", "--clear-groups", "/usr/bin/timeout",
            "-s", "KILL",
            "30",
        ]
        for options in [[], ["--listen", "127.0.0.1:0"]] {
            let run = try Self.run(surroundings, options: options, ["/bin/sh", "-c", "echo ran; exit 7"])
            // timeout itself is a process; it returns 125 if lagmond cannot even be started.
            #expect(
                [7, 125, 126].contains(run.status) && (run.status == 7) == (run.text == "ran\n"),
                "\(run.status) \(run.errors)"
            )
            let isServed = run.errors.contains("listening on http://")
            let isRefused = run.errors.contains("http.listen: without /metrics, /healthz and /stalls on 127.0.0.1:0: no thread")
            #expect(run.status == 125 || options.isEmpty || isServed != isRefused, "\(run.errors)")
        }
    }

    @Test func `the command runs under a file size limit`() throws {
        for limit in [0, 4] {
            // Long enough to be watched from outside, which is reported.
            let surroundings = ["/bin/sh", "-c", "ulimit -f \(limit); exec \"$@\"", "sh"]
            let run = try Self.run(surroundings, ["/bin/sh", "-c", "sleep 1; echo ran"])
            #expect(run.status == 0 && run.text == "ran\n", "\(run.status) \(run.signal)")
            #expect(run.errors.contains("no shared loop table: no shared memory: File too large"), "\(run.errors)")
        }
    }

    @Test func `the command inherits the file size limit unchanged`() throws {
        let facts = ["/bin/sh", "-c", "ulimit -f; grep -E 'Sig(Blk|Ign)' /proc/self/status"]
        let limited = ["/bin/sh", "-c", "ulimit -f 4; exec \"$@\"", "sh"]
        #expect(try Self.run(limited, facts).text == (try ProbeRun(limited + facts)).text)
    }

    #if arch(x86_64)
        /// System calls by number, denied by `ForeignProbe deny`.
        private static func denying(_ calls: [Int], errno: Int32) -> [String] {
            [ProbeRun.probe, "deny", "\(errno)"] + calls.map(String.init) + ["--"]
        }

        @Test(arguments: [EPERM, ENOSYS]) func `without memfd the command is watched from outside`(code: Int32) throws {
            let run = try Self.run(Self.denying([319], errno: code), [ProbeRun.probe, "stall"])
            #expect(run.status == 0)
            let reason = String(cString: strerror(code))
            let isSaid = run.errors.contains("watched from outside: no shared loop table: no shared memory: \(reason)")
            // If the machine does not allow that either, lagmond reports it.
            let other = "not watched: no shared loop table: no shared memory: \(reason)"
            #expect(isSaid || run.errors.contains(other), "\(run.errors)")
        }

        @Test(arguments: [EPERM, ENOSYS]) func `without pidfd the command runs and its exit status is kept`(code: Int32) throws {
            let denied = Self.denying([434, 424], errno: code)
            let run = try Self.run(denied)
            #expect(run.status == 0 && run.text == "ran\n", "\(run.errors)")
            #expect(try Self.run(denied, ["/bin/sh", "-c", "exit 7"]).status == 7)
            #expect(try Self.run(denied, ["/bin/sh", "-c", "kill -KILL $$"]).signal == SIGKILL)
        }

        @Test func `without pidfd signals are forwarded to the command`() throws {
            let running = try RunningProbe(
                Self.denying([434, 424], errno: EPERM) + ProbeRun.wrapper
                    + ["/bin/sh", "-c", "trap 'echo got; exit 9' TERM; echo ready; while :; do sleep 0.1; done"]
            )
            try #require(running.line() == "ready")
            kill(running.pid, SIGTERM)
            #expect(running.line() == "got")
            #expect(try running.end().status == 9)
        }
    #endif

    // MARK: Process 1

    private static let asFirst = ["/usr/bin/unshare", "--pid", "--fork", "--mount-proc"]
    private static let canBeFirst = (try? ProbeRun(asFirst + ["/bin/true"]))?.status == 0

    @Test(.enabled(if: canBeFirst, "needs a PID namespace")) func `lagmond as process 1 reaps orphans`() throws {
        let script = """
            for i in 1 2 3 4 5; do (setsid sh -c 'sleep 0.2' &); done
            left=1; tries=0
            while [ $left -gt 0 ] && [ $tries -lt 100 ]; do
                sleep 0.1; tries=$((tries + 1)); left=$(grep -sl '^PPid:.1$' /proc/[0-9]*/status | wc -l); left=$((left - 1))
            done
            echo $left
            exit 3
            """
        let run = try Self.run(Self.asFirst, ["/bin/sh", "-c", script])
        #expect(run.text == "0\n" && run.status == 3, "\(run.text) \(run.errors)")
    }

    @Test(.enabled(if: canBeFirst, "needs a PID namespace"))
    func `lagmond as process 1 forwards signals and exits with the command`()
        throws
    {
        // Another process than the command signals process 1, as a shell in the container does.
        let script = "trap 'echo got; exit 9' TERM; (sleep 0.3; kill -TERM 1) & while :; do sleep 0.1; done"
        let run = try Self.run(Self.asFirst, ["/bin/sh", "-c", script])
        #expect(run.text == "got\n" && run.status == 9, "\(run.text) \(run.errors)")
        #expect(try Self.run(Self.asFirst, ["/bin/sh", "-c", "kill -KILL $$"]).status == 137)
    }

    // MARK: Crashes of lagmond

    // Not SIGABRT: the parent process may have blocked it.
    @Test(arguments: [SIGSEGV, SIGBUS, SIGILL], ["", "enable=yes"])
    func `a crash prints one line and ends the process immediately`(signal: Int32, backtrace: String) throws {
        try ScratchDirectory.with { directory in
            let lagmond = try LagmondProcess(
                ["run", "--output", "a", "--listen", "0", "--duration", "60"],
                in: directory,
                environment: ["SWIFT_BACKTRACE": backtrace]
            )
            try #require(eventually { lagmond.errors.contains("listening") })
            let begun = MonotonicTime.now
            kill(lagmond.pid, signal)
            #expect(lagmond.wait(seconds: 20) == -signal)
            #expect(MonotonicTime.now - begun < .seconds(10))
            #expect(lagmond.errors.contains("lagmond: crashed: signal \(signal) ("), "\(lagmond.errors)")
        }
    }

    @Test func `the command inherits its own backtrace settings`() throws {
        let command = ["/bin/sh", "-c", "echo $SWIFT_BACKTRACE; grep -E 'Sig(Blk|Ign)' /proc/self/status"]
        let environment = ["SWIFT_BACKTRACE": "enable=yes,color=no"]
        let bare = try ProbeRun(command, environment: environment)
        #expect(try ProbeRun(ProbeRun.wrapper + command, environment: environment).text == bare.text)
        #expect(bare.text.hasPrefix("enable=yes,color=no\n"))
    }

    // MARK: A planted file

    @Test func `the default output does not follow a symbolic link`() throws {
        try ScratchDirectory.with { directory in
            try directory.write("theirs\n", to: "victim")
            try #require(symlink(directory.file("victim"), directory.file("lagmond-stalls.jsonl")) == 0)
            let run = try LagmondProcess(["run", "--", ProbeRun.probe, "stall"], in: directory)
            #expect(run.wait() == 0)
            #expect(directory.read("victim") == "theirs\n")
            #expect(run.errors.contains("cannot open lagmond-stalls.jsonl: it is a symbolic link"), "\(run.errors)")
        }
    }

    @Test func `the default output is not created in a folder that everyone can write to`() throws {
        try ScratchDirectory.with { directory in
            try #require(chmod(directory.path, 0o1777) == 0)
            let run = try LagmondProcess(["run", "--", ProbeRun.probe, "stall"], in: directory)
            #expect(run.wait() == 0)
            #expect(access(directory.file("lagmond-stalls.jsonl"), F_OK) != 0)
            #expect(!run.errors.contains("lines in"), "\(run.errors)")
            let text = "cannot create lagmond-stalls.jsonl: every user can write to the folder: stalls will not be written"
            #expect(run.errors.contains(text), "\(run.errors)")
            let options = ["run", "--output", "lagmond-stalls.jsonl", "--", ProbeRun.probe, "stall"]
            let named = try LagmondProcess(options, in: directory)
            #expect(named.wait() == 0)
            #expect(directory.read("lagmond-stalls.jsonl").contains(#""event":"stall""#))
        }
    }
}
