internal import Foundation
internal import Glibc
internal import LagMonitor
internal import Synchronization

/// A child process that runs another subcommand of this program, or another program with the same protocol; started, and ended by
/// its process ID. It ends with the thread that started it (``HiddenCommand``).
final class ChildProcess: Sendable {
    let pid: pid_t
    /// The reading end of its stdout; -1 if not requested.
    private let output: Int32
    /// The writing end of its stdin; -1 if not requested, or closed.
    private let input: Mutex<Int32>
    private let state = Mutex(State())

    private struct State {
        var unread: [UInt8] = []
        var hasEnded = false
    }

    /// - Parameters:
    ///   - program: the path of another program.
    ///   - capturesOutput: its stdout can be read with ``readLine(until:)``; else it goes to stderr.
    ///   - hasInput: its stdin stays open until ``endInput()``; else it is `/dev/null`.
    init(_ arguments: [String], program: String? = nil, capturesOutput: Bool = false, hasInput: Bool = false) throws {
        let ours = capturesOutput ? try Pipe() : nil
        let theirs = hasInput ? try Pipe() : nil
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let theirs {
            posix_spawn_file_actions_adddup2(&actions, theirs.read, STDIN_FILENO)
        } else {
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, ours?.write ?? STDERR_FILENO, STDOUT_FILENO)
        let path = try program ?? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var raw: [UnsafeMutablePointer<CChar>?] = ([path] + arguments + ["--parent", "\(getpid())"]).map { strdup($0) } + [nil]
        defer { for word in raw { free(word) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, nil, &raw, environ)
        if let ours { close(ours.write) }
        if let theirs { close(theirs.read) }
        pid = child
        output = ours?.read ?? -1
        input = Mutex(theirs?.write ?? -1)
        guard code == 0 else {
            state.withLock { $0.hasEnded = true }
            throw DiagnosisFailure("cannot start \(path): \(reasonText(code))")
        }
    }

    deinit {
        end()
        endInput()
        if output >= 0 { close(output) }
    }

    /// Closes its stdin.
    func endInput() {
        input.withLock { input in
            if input >= 0 { close(input) }
            input = -1
        }
    }

    /// The next line of its stdout without the newline; nil at the end of the output, or at the deadline.
    func readLine(until deadline: MonotonicTime = .distantFuture) -> String? {
        state.withLock { state in
            while true {
                if let end = state.unread.firstIndex(of: UInt8(ascii: "\n")) {
                    defer { state.unread.removeSubrange(...end) }
                    return String(decoding: state.unread[..<end], as: UTF8.self)
                }
                let left = (deadline - .now).wholeNanoseconds / 1_000_000
                var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
                guard left > 0 else { return nil }
                let ready = poll(&entry, 1, Int32(clamping: left))
                if ready < 0 && errno == EINTR { continue }
                guard ready > 0 else { return nil }
                var buffer = [UInt8](repeating: 0, count: 65_536)
                let count = read(output, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return nil }
                state.unread.append(contentsOf: buffer[..<count])
            }
        }
    }

    /// Kills it, and waits for it.
    func end() {
        state.withLock { state in
            guard !state.hasEnded else { return }
            state.hasEnded = true
            kill(pid, SIGKILL)
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
        }
    }
}
