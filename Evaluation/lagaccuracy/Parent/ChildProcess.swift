internal import Foundation
internal import Glibc
internal import LagMonitor

/// A process of this program under another subcommand, started and ended by its id.
///
/// It dies with its parent, also while it is stopped (`PR_SET_PDEATHSIG`, ``HiddenCommand``).
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

    /// Whether it has ended; looks without waiting.
    var hasEnded: Bool {
        if status != nil { return true }
        var word: Int32 = 0
        guard waitpid(pid, &word, WNOHANG) == pid else { return false }
        status = word
        return true
    }

    /// Ends it, stopped or not, and waits for it.
    func end() {
        guard !hasEnded else { return }
        kill(pid, SIGKILL)
        var word: Int32 = 0
        while waitpid(pid, &word, 0) < 0 && errno == EINTR {}
        status = word
    }

    /// Stops it as a whole and continues it after `milliseconds`. Nil when it ended instead.
    /// - Throws: ``AccuracyFailure`` when it does not stop: a thread of it sits in the kernel and cannot be interrupted.
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

    /// Waits for the last of its threads to stop; false when it ended instead.
    private func waitUntilStopped() throws -> Bool {
        let deadline = MonotonicTime.now + Self.stopLimit
        while MonotonicTime.now < deadline {
            var word: Int32 = 0
            if waitpid(pid, &word, WUNTRACED | WNOHANG) == pid {
                // The low byte of a process that has stopped (WIFSTOPPED); any other has ended.
                if word & 0xff == 0x7f { return true }
                status = word
                return false
            }
            usleep(Self.pollMicroseconds)
        }
        throw AccuracyFailure("the target could not be stopped")
    }

    private static let stopLimit: Duration = .seconds(10)
    /// The maximum uncertainty of the beginning of a stop.
    private static let pollMicroseconds: UInt32 = 20

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
