internal import CLagRemote
internal import Glibc
internal import LagModel
internal import LagRemote

/// A process and its descendants at one moment, each as a pidfd, so that a reused process ID is not confused with it. If the
/// kernel or a filter has no pidfd: a process ID with its start time, which is compared just before the ID is used.
struct ProcessTree: ~Copyable {
    private struct Member {
        let pid: pid_t
        /// Negative: none.
        let pidfd: Int32
        let startTicks: UInt64

        var hasEnded: Bool {
            guard pidfd < 0 else { return ProcessTree.hasEnded(pidfd) }
            return ProcessTree.startTicks(of: pid) != startTicks
        }

        func kill() {
            if pidfd >= 0 { _ = clr_pidfd_kill(pidfd, SIGKILL) } else if !hasEnded { _ = Glibc.kill(pid, SIGKILL) }
        }
    }

    private var members: [Member] = []

    init() {}

    /// Adds `root` and its current descendants. Takes some 10 µs per process of the machine.
    mutating func add(below root: pid_t) {
        let parents = Self.parents()
        for pid in Self.members(below: root, parents)
        where pid != getpid() && !members.contains(where: { $0.pid == pid && !$0.hasEnded }) {
            let startTicks = Self.startTicks(of: pid)
            let pidfd = clr_pidfd_open(pid)
            guard startTicks != nil, pidfd >= 0 || errno != ESRCH else {
                if pidfd >= 0 { close(pidfd) }
                continue
            }
            // The process ID may have been reused between the list and the descriptor.
            guard pid == root || Self.parent(of: pid) == parents[pid] else {
                if pidfd >= 0 { close(pidfd) }
                continue
            }
            members.append(Member(pid: pid, pidfd: pidfd, startTicks: startTicks ?? 0))
        }
    }

    /// `root` and its current descendants. Takes some 10 µs per process of the machine.
    static func members(below root: pid_t) -> Set<pid_t> { members(below: root, parents()) }

    /// Whether a process is now `root` or a descendant of it. Takes some 10 µs per generation.
    static func contains(_ process: pid_t, below root: pid_t) -> Bool {
        guard root > 0 else { return false }
        var member = process
        while member > 0, member != root { member = parent(of: member) ?? 0 }
        return member == root
    }

    static func members(below root: pid_t, _ parents: [pid_t: pid_t]) -> Set<pid_t> {
        var found: Set<pid_t> = [root]
        // Children may be listed before or after their parents: repeats until nothing is added.
        var isGrowing = true
        while isGrowing {
            let fresh = parents.filter { !found.contains($0.key) && found.contains($0.value) }.map(\.key)
            isGrowing = !fresh.isEmpty
            found.formUnion(fresh)
        }
        return found
    }

    var living: Int { members.count { !$0.hasEnded } }

    /// For a process that was added.
    func isLiving(_ pid: pid_t) -> Bool { members.contains { $0.pid == pid && !$0.hasEnded } }

    func kill() { for member in members { member.kill() } }

    /// nil: it has exited (or is a zombie that waits for its parent).
    static func startTicks(of pid: pid_t) -> UInt64? {
        var status = cll_thread_status()
        var ticks: UInt64 = 0
        guard cll_procfs_start_ticks(pid, &ticks) == 0, cll_procfs_status(pid, 0, &status) == 0 else { return nil }
        // The state is that of the main thread, which may have exited before the others.
        let hasMain = status.state != CChar(UInt8(ascii: "Z")) && status.state != CChar(UInt8(ascii: "X"))
        return hasMain || ProcFile.numbers(in: "/proc/\(pid)/task").count > 1 ? ticks : nil
    }

    static func hasEnded(_ pidfd: Int32) -> Bool {
        var entry = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    deinit { for member in members where member.pidfd >= 0 { close(member.pidfd) } }

    /// Each process of the machine with its parent; empty if `/proc` shows the process IDs of another PID namespace.
    static func parents() -> [pid_t: pid_t] {
        var parents: [pid_t: pid_t] = [:]
        guard ProcFolder.fault == nil else { return parents }
        for pid in ProcFile.numbers(in: "/proc") {
            if let parent = parent(of: pid) { parents[pid] = parent }
        }
        return parents
    }

    /// From `stat`, field 4 (proc(5)); the name in field 2 may contain anything, including parentheses.
    private static func parent(of pid: pid_t) -> pid_t? {
        parent(inStat: ProcFile.text(at: "/proc/\(pid)/stat", limit: 1024) ?? "")
    }

    /// By bytes: a name may end with a scalar (U+0600) that forms one `Character` with the parenthesis after it.
    static func parent(inStat text: String) -> pid_t? {
        guard let end = text.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = text.utf8[end...].dropFirst().split(separator: UInt8(ascii: " "))
        return fields.count > 1 ? pid_t(Substring(fields[1])) : nil
    }
}
