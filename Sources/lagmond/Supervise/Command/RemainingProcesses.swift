internal import Glibc
internal import LagModel
internal import LagMonitor
internal import LagRemote

/// The processes of a command that keep running after its end: a daemon that it left behind, a background job.
struct RemainingProcesses {
    struct Member: Equatable {
        let pid: pid_t
        let startTicks: UInt64
        let name: String
    }

    /// Those whose parents are not processes of the command: for a server with a master and workers, the master.
    private(set) var members: [Member]
    private let foundAt: MonotonicTime

    /// Processes that end with their parent have ended after this time.
    private static let settlingTime: Duration = .milliseconds(200)
    private static let namesInMessage = 4

    /// Finds what runs now. Takes some 10 µs per process of the machine, and 50 µs for each that was started since.
    /// - Parameters:
    ///   - startTicks: when lagmond was started; no process of the command is older.
    ///   - isOurs: whether a process has the command's shared table, or the variable that names it.
    init(since startTicks: UInt64, isOurs: (pid_t) -> Bool) {
        let parents = ProcessTree.parents()
        let found = parents.keys.filter { pid in
            guard pid != getpid(), let ticks = ProcessTree.startTicks(of: pid), ticks >= startTicks else { return false }
            return isOurs(pid)
        }
        let members = Self.topmost(of: found, parents).compactMap { pid in
            ProcessTree.startTicks(of: pid).map {
                Member(pid: pid, startTicks: $0, name: ProcessContext.processName(of: pid) ?? "unknown")
            }
        }
        self.init(members)
    }

    init(_ members: [Member]) {
        self.members = members
        foundAt = .now
    }

    static func topmost(of processes: [pid_t], _ parents: [pid_t: pid_t]) -> [pid_t] {
        let all = Set(processes)
        return processes.filter { !all.contains(parents[$0] ?? 0) }.sorted()
    }

    /// Removes those that have ended meanwhile. If there are any, first waits for those that end with their parent.
    mutating func settle() {
        guard !members.isEmpty else { return }
        let left = (Self.settlingTime - (MonotonicTime.now - foundAt)).wholeNanoseconds
        if left > 0 { usleep(UInt32(left / 1000)) }
        members.removeAll { ProcessTree.startTicks(of: $0.pid) != $0.startTicks }
    }

    /// The message that names them and a remedy; nil: none.
    /// - Parameter isWatchOver: whether lagmond exits with its command.
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
