internal import Foundation
internal import Glibc
internal import LagMonitor

/// A child process that runs another subcommand of this program; started, and ended by its process ID.
///
/// The kernel kills it with its parent, even while it is stopped (`PR_SET_PDEATHSIG`, ``HiddenCommand``).
final class ChildProcess {
    let pid: pid_t
    /// The reading end of its stdout; -1 if not requested.
    let output: Int32
    private var status: Int32?

    /// - Parameters:
    ///   - capturesOutput: its stdout goes to ``output``; otherwise to stderr.
    ///   - input: becomes its stdin; nil: `/dev/null`.
    ///   - extra: becomes its descriptor 3.
    init(_ arguments: [String], capturesOutput: Bool = false, input: Int32? = nil, extra: Int32? = nil) throws {
        let ends = capturesOutput ? try PipeEnds() : nil
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        } else {
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, ends?.write ?? STDERR_FILENO, STDOUT_FILENO)
        if let extra { posix_spawn_file_actions_adddup2(&actions, extra, 3) }
        let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let words = [path] + arguments + ["--parent", "\(getpid())"]
        var raw: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for word in raw { free(word) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, nil, &raw, environ)
        if let ends { close(ends.write) }
        guard code == 0 else {
            if let ends { close(ends.read) }
            throw AccuracyFailure("cannot start \(path): \(Self.reason(code))")
        }
        pid = child
        output = ends?.read ?? -1
    }

    deinit {
        end()
        if output >= 0 { close(output) }
    }

    /// Whether it has exited. Does not wait.
    var hasEnded: Bool {
        if status != nil { return true }
        var word: Int32 = 0
        guard waitpid(pid, &word, WNOHANG) == pid else { return false }
        status = word
        return true
    }

    /// Kills it, even if it is stopped, and waits for it.
    func end() {
        guard !hasEnded else { return }
        kill(pid, SIGKILL)
        var word: Int32 = 0
        while waitpid(pid, &word, 0) < 0 && errno == EINTR {}
        status = word
    }

    /// Stops the whole process, and continues it after `milliseconds`. Nil if it exited instead.
    /// - Throws: ``AccuracyFailure`` if it does not stop, because one of its threads is in an uninterruptible system call.
    func stopAndContinue(milliseconds: Double) throws -> ObservedStop? {
        guard !hasEnded else { return nil }
        let asked = MonotonicTime.now
        kill(pid, SIGSTOP)
        guard try waitUntilStopped() else { return nil }
        let stopped = MonotonicTime.now
        usleep(UInt32(milliseconds * 1000))
        let continued = MonotonicTime.now
        kill(pid, SIGCONT)
        let running = MonotonicTime.now
        return ObservedStop(
            asked: asked.nanoseconds,
            stopped: stopped.nanoseconds,
            continued: continued.nanoseconds,
            running: running.nanoseconds
        )
    }

    /// Waits until its last thread has stopped; false if it exited instead.
    private func waitUntilStopped() throws -> Bool {
        let deadline = MonotonicTime.now + Self.stopLimit
        while MonotonicTime.now < deadline {
            var word: Int32 = 0
            if waitpid(pid, &word, WUNTRACED | WNOHANG) == pid {
                // The low byte of a stopped process (WIFSTOPPED); with any other value the process has exited.
                if word & 0xff == 0x7f { return true }
                status = word
                return false
            }
            usleep(Self.pollMicroseconds)
        }
        throw AccuracyFailure("the target could not be stopped")
    }

    private static let stopLimit: Duration = .seconds(10)
    /// The maximum uncertainty of the start of a stop.
    private static let pollMicroseconds: UInt32 = 20

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
