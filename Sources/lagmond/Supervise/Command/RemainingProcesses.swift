internal import Glibc
internal import LagModel
internal import LagMonitor
internal import LagRemote

/// The processes of a command that go on after its end: a daemon that it has left behind, a job in the background.
struct RemainingProcesses {
    struct Member: Equatable {
        let pid: pid_t
        let startTicks: UInt64
        let name: String
    }

    /// Those whose parents are no processes of the command: of a server's master and its workers the master.
    private(set) var members: [Member]
    private let foundAt: MonotonicTime

    /// What is about to end with its parent has ended after this time.
    private static let settlingTime: Duration = .milliseconds(200)
    private static let namesInMessage = 4

    /// What runs now. Some 10 µs a process of the machine, and 50 for each that was started since.
    /// - Parameters:
    ///   - startTicks: when lagmond was started; none of the command's is older.
    ///   - isOurs: whether a process has something of the command's: the shared table, or the variable that names it.
    init(since startTicks: UInt64, isOurs: (pid_t) -> Bool) {
        let parents = ProcessTree.parents()
        let found = parents.keys.filter { pid in
            guard pid != getpid(), let ticks = ProcessTree.startTicks(of: pid), ticks >= startTicks else { return false }
            return isOurs(pid)
        }
        let all = Set(found)
        members = found.filter { !all.contains(parents[$0] ?? 0) }.sorted().compactMap { pid in
            ProcessTree.startTicks(of: pid).map {
                Member(pid: pid, startTicks: $0, name: ProcessContext.processName(of: pid) ?? "unknown")
            }
        }
        foundAt = .now
    }

    /// Without those that have ended meanwhile. Waits, where there are any, for what ends with its parent.
    mutating func settle() {
        guard !members.isEmpty else { return }
        let left = (Self.settlingTime - (MonotonicTime.now - foundAt)).wholeNanoseconds
        if left > 0 { usleep(UInt32(left / 1000)) }
        members.removeAll { ProcessTree.startTicks(of: $0.pid) != $0.startTicks }
    }

    /// What they are, and what helps; nil: there are none.
    /// - Parameter isWatchOver: whether lagmond ends with its command.
    func message(isWatchOver: Bool) -> String? {
        guard let first = members.first else { return nil }
        let names = members.prefix(Self.namesInMessage).map { "\($0.name) [\($0.pid)]" }.joined(separator: ", ")
        let more = members.count > Self.namesInMessage ? " and \(members.count - Self.namesInMessage) more" : ""
        let (verb, object) = members.count == 1 ? ("keeps", "it") : ("keep", "them")
        let fate = isWatchOver ? "unwatched" : "and lagmond neither ends nor restarts \(object)"
        return "\(names)\(more) \(verb) running after the command's end, \(fate): make the command stay in the foreground "
            + "(redis-server: --daemonize no; nginx: -g 'daemon off;')"
            + (isWatchOver ? ", or use lagmond attach --pid \(first.pid)" : "")
    }
}
