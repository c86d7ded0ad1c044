internal import LagMonitor
internal import LagRemote

/// Reports on stderr which loops of a command are watched, or that none was found.
///
/// Used by one thread, which updates it every ``interval``.
struct WatchReport {
    /// A watched process as a poll found it.
    struct Process {
        let id: ProcessID
        let name: String
        /// The names of its loops.
        let loops: [String]
    }

    /// The command's own process.
    struct Command {
        /// 0: not running.
        let pid: Int32
        let name: String
        /// Whether a process of it may still be watched in another way; then its loops are not known yet, but for a limited time
        /// only: there may always be a new process.
        var isUndecided = false
        /// Whether it is a Go program.
        var isGo = false
        /// The process with a thread that sleeps like a loop: the command, or a process below it (a worker of an idle server).
        var waiter: String?
        /// The patterns by which loops are selected; empty: all are.
        var selection = ""
        /// The loops and processes that are not selected.
        var leftOut: [String] = []
    }

    static let interval: Duration = .milliseconds(500)
    /// A command without a loop for this long is reported.
    static let patience: Duration = .seconds(5)
    /// A command is undecided for this long at most.
    static let longestUndecided: Duration = .seconds(15)
    /// The number of processes that get their own line: a server may have hundreds of workers.
    static let lines = 8
    private static let namesInLine = 4
    private static let leftOutInLine = 8

    /// Processes seen once so far: a process that starts many loops has all of them a moment later.
    private var fresh: Set<ProcessID> = []
    private var known: Set<ProcessID> = []
    private var lineCount = 0
    private var isSilenceReported = false
    /// The command's process, and when it was first seen; replaced after a restart.
    private var root: (pid: Int32, since: MonotonicTime, first: MonotonicTime)?

    /// - Parameter watched: the processes with a watched loop.
    /// - Returns: new messages.
    mutating func update(_ watched: [Process], of command: Command, at now: MonotonicTime) -> [String] {
        if root?.pid != command.pid {
            root = (command.pid, now, now)
            isSilenceReported = false
            lineCount = 0
        }
        // Its loops are known from then on.
        let isUndecided = command.isUndecided && root.map { now - $0.first < Self.longestUndecided } != false
        if isUndecided { root?.since = now }
        let present = Set(watched.filter { !$0.loops.isEmpty }.map(\.id))
        known.formIntersection(present)
        var messages: [String] = []
        for process in watched where present.contains(process.id) && !known.contains(process.id) && fresh.contains(process.id) {
            known.insert(process.id)
            lineCount += 1
            if lineCount <= Self.lines { messages.append(Self.message(on: process)) }
            if lineCount == Self.lines + 1 { messages.append("watching more processes, not listed individually") }
        }
        fresh = present.subtracting(known)
        if present.isEmpty, !isSilenceReported, !isUndecided, command.pid != 0, let root,
            now - root.since >= Self.patience
        {
            isSilenceReported = true
            messages.append(Self.message(onSilenceOf: command, after: now - root.since))
        }
        return messages
    }

    /// Whether it may be reported now that the command has no loop.
    func isSilenceDue(at now: MonotonicTime) -> Bool {
        guard !isSilenceReported, let root else { return false }
        return now - root.since >= Self.patience
    }

    /// Whether to list the processes of a command now: at each poll while it starts, because a process that then changes its user
    /// must be watched from outside before its first stall; rarely afterwards, because a list costs 10 µs per process of the
    /// machine.
    static func isListDue(startedAt start: MonotonicTime, listedAt: MonotonicTime, at now: MonotonicTime) -> Bool {
        now - start < patience || now - listedAt >= patience
    }

    /// How long a thread must wait for events unseen by the active library until its process is watched from outside: during a
    /// start, the C library itself waits occasionally. Soon after the start of the command, its first stalls would be missed.
    static func blindTime(startedAt start: MonotonicTime, at now: MonotonicTime) -> Duration {
        now - start < patience * 2 ? .seconds(2) : patience
    }

    private static func message(on process: Process) -> String {
        "watching \(list(counted(process.loops), namesInLine)) of \(process.name) [\(process.id.pid)]"
    }

    /// Each name once: `worker (2)` for two loops with the same name, which are threads that the program named alike.
    private static func counted(_ names: [String]) -> [String] {
        var counts: [String: Int] = [:]
        for name in names { counts[name, default: 0] += 1 }
        return names.compactMap { name in
            counts.removeValue(forKey: name).map { $0 == 1 ? name : "\(name) (\($0))" }
        }
    }

    private static func message(onSilenceOf command: Command, after time: Duration) -> String {
        let start = "\(command.name) [\(command.pid)] has no event loop"
        let wait = "after \(Duration.seconds(time.components.seconds).shown)"
        guard command.leftOut.isEmpty else {
            return "\(start) that is selected (\(command.selection)) \(wait): nothing is watched so far; "
                + "left out are \(list(command.leftOut, leftOutInLine))"
        }
        guard !command.isGo else { return "\(start) \(wait): it is \(GoProgram.notice)" }
        let reason =
            command.waiter.map(firstWait)
            ?? "\(noWaits); a thread that only computes or reads, or polls with timeout 0 and sleeps in between, is not watched"
        return "\(start) \(wait): \(reason)"
    }

    static let noWaits = "none of its threads waits repeatedly in epoll, poll or select"
    /// For an idle server: one wait may last for hours.
    static func firstWait(of waiter: String) -> String {
        "a thread of \(waiter) waits for events; it is watched as a loop when it returns to that wait"
    }

    private static func list(_ names: [String], _ most: Int) -> String {
        names.prefix(most).joined(separator: ", ") + (names.count > most ? " and \(names.count - most) more" : "")
    }
}

/// Identifies a process, because a process ID alone is not unique over time.
struct ProcessID: Hashable {
    let pid: Int32
    /// When it began, in clock ticks since the machine started.
    let startTicks: UInt64
    /// If it differs, the process has started another program by exec. Nil: not known.
    var image: ProgramImage?
}
