internal import CLagLinux
internal import Glibc
internal import Testing

@testable internal import LagRemote

struct ProcessHandleTests {
    private static let ends: [(script: String, status: Int32, hasExited: Bool)] = [
        ("exit 3", 3 << 8, true), ("exit 0", 0, true), ("kill -KILL $$", SIGKILL, false),
    ]

    /// How a child ends that has not been waited for: its status is in `/proc`, on every kernel.
    @Test(arguments: 0..<3) func `how a process has ended is known before it is waited for`(number: Int) throws {
        let expected = Self.ends[number]
        let child = try Child(running: "read line; \(expected.script)")
        defer { child.end() }
        let handle = ProcessHandle(child.pid)
        var status: Int32 = -1
        var isKnown = cll_procfs_exit_status(child.pid, &status)
        #expect(handle.isAlive && !handle.hasExited && isKnown == 0)
        child.release()
        var information = siginfo_t()
        let error = waitid(P_PID, id_t(child.pid), &information, WEXITED | WNOWAIT)
        try #require(error == 0)
        isKnown = cll_procfs_exit_status(child.pid, &status)
        #expect(!handle.isAlive && isKnown == 1 && status == expected.status)
        #expect(handle.hasExited == expected.hasExited)
    }
}

/// A shell that waits for a line before it goes on.
private final class Child {
    let pid: pid_t
    private let input: Int32

    init(running script: String) throws {
        var ends: [Int32] = [-1, -1]
        _ = Glibc.pipe(&ends)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
        let arguments: [UnsafeMutablePointer<CChar>?] = ["/bin/sh", "-c", script].map { (text: String) in strdup(text) } + [nil]
        var started: pid_t = 0
        let error = posix_spawn(&started, "/bin/sh", &actions, nil, arguments, environ)
        for argument in arguments { free(argument) }
        posix_spawn_file_actions_destroy(&actions)
        close(ends[0])
        (pid, input) = (started, ends[1])
        try #require(error == 0)
    }

    func release() { _ = write(input, "\n", 1) }

    func end() {
        close(input)
        kill(pid, SIGKILL)
        while waitpid(pid, nil, 0) < 0, errno == EINTR {}
    }
}
