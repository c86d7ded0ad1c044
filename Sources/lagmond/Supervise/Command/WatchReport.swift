internal import LagMonitor
internal import LagRemote

/// What is reported on stderr of the watch of a command: which loops are watched, and that none was found.
///
/// A value of one thread, which updates it every ``interval``.
struct WatchReport {
    /// A process that is watched, as a poll found it.
    struct Process {
        let id: ProcessID
        let name: String
        /// The names of its loops.
        let loops: [String]
    }

    /// The command's own process.
    struct Command {
        /// 0: it does not run.
        let pid: Int32
        let name: String
        /// Whether a process of it may be watched in another way yet: then nothing is known of its loops.
        var isUndecided = false
        /// Whether it is a program of Go.
        var isGo = false
        /// Who has a thread that sleeps in a wait as loops have: it, or a process below it (a worker of an idle server).
        var waiter: String?
        /// The patterns by which loops are selected; empty: all are.
        var selection = ""
        /// What is not selected: loops, and processes.
        var leftOut: [String] = []
    }

    static let interval: Duration = .milliseconds(500)
    /// A command without a loop for so long is reported.
    static let patience: Duration = .seconds(5)
    /// Processes that get a line each: a server may have hundreds of workers.
    static let lines = 8
    private static let namesInLine = 4
    private static let leftOutInLine = 8

    /// Seen once so far: what starts many loops has them all a moment later.
    private var fresh: Set<ProcessID> = []
    private var known: Set<ProcessID> = []
    private var lineCount = 0
    private var isSilenceReported = false
    /// The command's process, and when it was first seen; another one after a restart.
    private var root: (pid: Int32, since: MonotonicTime)?

    /// - Parameter watched: the processes with a watched loop.
    /// - Returns: new messages.
    mutating func update(_ watched: [Process], of command: Command, at now: MonotonicTime) -> [String] {
        if root?.pid != command.pid {
            root = (command.pid, now)
            isSilenceReported = false
            lineCount = 0
        }
        // What is to be known of it is known from then on.
        if command.isUndecided { root?.since = now }
        let present = Set(watched.lazy.filter { !$0.loops.isEmpty }.map(\.id))
        known.formIntersection(present)
        var messages: [String] = []
        for process in watched where present.contains(process.id) && !known.contains(process.id) && fresh.contains(process.id) {
            known.insert(process.id)
            lineCount += 1
            if lineCount <= Self.lines { messages.append(Self.message(on: process)) }
            if lineCount == Self.lines + 1 { messages.append("watching further processes, without a line for each") }
        }
        fresh = present.subtracting(known)
        if present.isEmpty, !isSilenceReported, !command.isUndecided, command.pid != 0, let root,
            now - root.since >= Self.patience
        {
            isSilenceReported = true
            messages.append(Self.message(onSilenceOf: command, after: now - root.since))
        }
        return messages
    }

    /// Whether that the command has no loop may be reported now.
    func isSilenceDue(at now: MonotonicTime) -> Bool {
        guard !isSilenceReported, let root else { return false }
        return now - root.since >= Self.patience
    }

    /// Whether the processes of a command are to be listed now: each time while it starts, as a process that becomes another user's then is to be
    /// watched from outside before its first stall; seldom afterwards, as a list costs 10 µs a process of the machine.
    static func isListDue(startedAt start: MonotonicTime, listedAt: MonotonicTime, at now: MonotonicTime) -> Bool {
        now - start < patience || now - listedAt >= patience
    }

    private static func message(on process: Process) -> String {
        "watching \(list(process.loops, namesInLine)) of \(process.name) [\(process.id.pid)]"
    }

    private static func message(onSilenceOf command: Command, after time: Duration) -> String {
        let start = "\(command.name) [\(command.pid)] has no event loop"
        let wait = "after \(Duration.seconds(time.components.seconds).shown)"
        guard command.leftOut.isEmpty else {
            return "\(start) that is selected (\(command.selection)) \(wait): nothing is watched so far; "
                + "left out are \(list(command.leftOut, leftOutInLine))"
        }
        guard !command.isGo else { return "\(start) \(wait): it is \(GoProgram.notice)" }
        let reason = command.waiter.map(firstWait) ?? "\(noWaits); a thread that only computes or reads is not watched"
        return "\(start) \(wait): \(reason)"
    }

    static let noWaits = "no thread of it waits again and again in epoll, poll or select"
    /// An idle server's case: one wait may last for hours.
    static func firstWait(of waiter: String) -> String {
        "a thread of \(waiter) waits for events, and is watched as a loop when it has come back to that wait"
    }

    private static func list(_ names: [String], _ most: Int) -> String {
        names.prefix(most).joined(separator: ", ") + (names.count > most ? " and \(names.count - most) more" : "")
    }
}

/// A process, which its number alone does not name.
struct ProcessID: Hashable {
    let pid: Int32
    /// When it began, in clock ticks since the machine started.
    let startTicks: UInt64
    /// Another one: it became another program by exec. Nil: not known.
    var image: ProgramImage?
}
