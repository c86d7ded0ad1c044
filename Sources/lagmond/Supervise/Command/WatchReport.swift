internal import LagMonitor

/// What is reported on stderr of the watch of a command: which loops are watched, and that none was found.
///
/// A value of one thread, which updates it every ``interval``.
struct WatchReport {
    /// A process that is watched, as a poll found it.
    struct Process {
        let pid: Int32
        /// With the pid it names the process.
        let startTicks: UInt64
        let name: String
        /// The names of its loops.
        let loops: [String]
    }

    static let interval: Duration = .milliseconds(500)
    /// A command without a loop for so long is reported.
    static let patience: Duration = .seconds(5)
    /// Processes that get a line each: a server may have hundreds of workers.
    static let lines = 8
    private static let namesInLine = 4

    private struct Key: Hashable {
        let pid: Int32
        let startTicks: UInt64
    }

    /// Seen once so far: what starts many loops has them all a moment later.
    private var fresh: Set<Key> = []
    private var known: Set<Key> = []
    private var isSilenceReported = false
    /// The command's own process, and when it was first seen; another one after a restart.
    private var root: (pid: Int32, since: MonotonicTime)?

    /// - Parameters:
    ///   - watched: the processes with a watched loop.
    ///   - command: the command's own process; 0: it does not run.
    /// - Returns: new messages.
    mutating func update(_ watched: [Process], command: Int32, name: String, at now: MonotonicTime) -> [String] {
        if root?.pid != command {
            root = (command, now)
            isSilenceReported = false
        }
        var messages: [String] = []
        for process in watched where !process.loops.isEmpty {
            let key = Key(pid: process.pid, startTicks: process.startTicks)
            guard !known.contains(key) else { continue }
            guard fresh.remove(key) != nil else {
                fresh.insert(key)
                continue
            }
            known.insert(key)
            if known.count <= Self.lines { messages.append(Self.message(on: process)) }
            if known.count == Self.lines + 1 { messages.append("watching further processes, without a line for each") }
        }
        let isSilent = watched.allSatisfy(\.loops.isEmpty)
        if isSilent, !isSilenceReported, command != 0, let root, now - root.since >= Self.patience {
            isSilenceReported = true
            messages.append(
                "\(name) [\(command)] has no event loop after \(Self.patience.components.seconds) s: no thread of it waits again and again "
                    + "in epoll, poll or select; a thread that only computes or reads is not watched"
            )
        }
        return messages
    }

    private static func message(on process: Process) -> String {
        let rest = process.loops.count - namesInLine
        let names = process.loops.prefix(namesInLine).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
        return "watching \(names) of \(process.name) [\(process.pid)]"
    }
}
