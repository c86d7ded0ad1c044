internal import CLagBeacon
internal import CLagLinux
internal import Foundation
internal import Glibc
internal import TestSupport
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
        #expect(handle.isAlive && !handle.hasExited(since: 0, at: 1) && isKnown == 0)
        child.release()
        var information = siginfo_t()
        let error = waitid(P_PID, id_t(child.pid), &information, WEXITED | WNOWAIT)
        try #require(error == 0)
        isKnown = cll_procfs_exit_status(child.pid, &status)
        #expect(!handle.isAlive && isKnown == 1 && status == expected.status)
        #expect(handle.hasExited(since: 0, at: 1) == expected.hasExited)
    }

    /// A program that ends in its handler does so by the same signal.
    @Test(arguments: [(SIGTERM, true), (SIGHUP, true), (SIGINT, false), (SIGUSR1, false)])
    func `a process that ends by a signal that it handled has ended by itself, if it was asked to just then`(
        signal: Int32,
        canBeEnd: Bool
    ) throws {
        let child = try Child(running: "trap : \(signal); read line; trap - \(signal); kill -\(signal) $$")
        defer { child.end() }
        var status = cll_thread_status()
        #expect(
            eventually {
                cll_procfs_status(child.pid, child.pid, &status) == 0 && status.caught_signals >> UInt64(signal - 1) & 1 == 1
            }
        )
        let (handle, other) = (ProcessHandle(child.pid), ProcessHandle(child.pid))
        handle.recordHandledSignals()
        child.release()
        var information = siginfo_t()
        try #require(waitid(P_PID, id_t(child.pid), &information, WEXITED | WNOWAIT) == 0)
        #expect(handle.hasExited(since: 5, at: 9_000_000_005) == canBeEnd)
        #expect(!handle.hasExited(since: 5, at: 10_000_000_005) && !other.hasExited(since: 5, at: 6))
    }

    /// Its memory is gone, as in a process that is just exiting.
    @Test func `a process that has exited was not replaced by another program`() throws {
        let child = try Child(running: "read line")
        defer { child.end() }
        // It is set at the end of the exec.
        #expect(eventually { ProgramImage(of: child.pid)?.isKnown == true })
        let image = try #require(ProgramImage(of: child.pid))
        #expect(image.mayBe(ProgramImage(of: child.pid)))
        child.release()
        var information = siginfo_t()
        try #require(waitid(P_PID, id_t(child.pid), &information, WEXITED | WNOWAIT) == 0)
        #expect(image.mayBe(ProgramImage(of: child.pid)) && !image.mayBe(ProgramImage(of: getpid())))
    }

    /// Within an exec the kernel does not show the program.
    @Test func `an unknown program is known as soon as the kernel shows it`() throws {
        let (first, second) = (try #require(ProgramImage(of: getpid())), try #require(ProgramImage(of: getppid())))
        try #require(first.isKnown && second.isKnown && first != second)
        var unknown = first
        unknown.firstStack = 0
        for begin in [unknown, nil] {
            var image = begin
            #expect(ProgramImage.isSame(&image, begin) && ProgramImage.isSame(&image, first) && image == first)
            // A process that exits has none.
            #expect(ProgramImage.isSame(&image, unknown) && ProgramImage.isSame(&image, nil))
            #expect(!ProgramImage.isSame(&image, second) && image == first)
        }
    }

    /// Before this version, how a child ended is not known once it was waited for.
    private static let knowsExits: Bool = {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        return (version.majorVersion, version.minorVersion) >= (6, 15)
    }()

    @Test(.enabled(if: knowsExits, "needs Linux 6.15"))
    func `how a process has ended is known while it is waited for`() throws {
        for round in 1...200 {
            let child = try Child(running: "read line; exit 3")
            let (pid, handle, waited) = (child.pid, ProcessHandle(child.pid), DispatchSemaphore(value: 0))
            Thread {
                _ = waitpid(pid, nil, 0)
                waited.signal()
            }
            .start()
            child.release()
            let deadline = ContinuousClock.now + .seconds(30)
            while handle.isAlive, ContinuousClock.now < deadline { sched_yield() }
            #expect(handle.hasExited(since: 0, at: 1), "round \(round)")
            try #require(waited.wait(timeout: .now() + 30) == .success)
            child.forget()
        }
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
        // The test program's threads block signals, or it ignores them.
        var attributes = posix_spawnattr_t()
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_init(&attributes)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let error = posix_spawn(&started, "/bin/sh", &actions, &attributes, arguments, environ)
        for argument in arguments { free(argument) }
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
        close(ends[0])
        (pid, input) = (started, ends[1])
        try #require(error == 0)
    }

    func release() { _ = write(input, "\n", 1) }

    /// It was waited for.
    func forget() { close(input) }

    func end() {
        close(input)
        kill(pid, SIGKILL)
        while waitpid(pid, nil, 0) < 0, errno == EINTR {}
    }
}
