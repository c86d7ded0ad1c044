internal import CLagLinux
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

    /// The same with their identities, without zombies. Takes no longer.
    static func identities(below root: pid_t) -> [ProcessID] {
        let processes = processes()
        return members(below: root, processes.mapValues(\.parent)).sorted().compactMap { pid in
            processes[pid].flatMap { isLiving(pid, $0) ? ProcessID(pid, $0) : nil }
        }
    }

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
        var process = cll_process()
        return cll_procfs_process(pid, &process) == 0 && isLiving(pid, process) ? process.start_ticks : nil
    }

    /// The state is that of the main thread, which may have exited before the others.
    private static func isLiving(_ pid: pid_t, _ process: cll_process) -> Bool {
        let hasMain = process.state != CChar(UInt8(ascii: "Z")) && process.state != CChar(UInt8(ascii: "X"))
        return hasMain || ProcFile.numbers(in: "/proc/\(pid)/task").count > 1
    }

    static func hasEnded(_ pidfd: Int32) -> Bool {
        var entry = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    deinit { for member in members where member.pidfd >= 0 { close(member.pidfd) } }

    /// Each process of the machine with its parent; empty if `/proc` shows the process IDs of another PID namespace.
    static func parents() -> [pid_t: pid_t] { processes().mapValues(\.parent) }

    private static func processes() -> [pid_t: cll_process] {
        var processes: [pid_t: cll_process] = [:]
        guard ProcFolder.fault == nil else { return processes }
        for pid in ProcFile.numbers(in: "/proc") {
            var process = cll_process()
            if cll_procfs_process(pid, &process) == 0 { processes[pid] = process }
        }
        return processes
    }

    private static func parent(of pid: pid_t) -> pid_t? {
        var process = cll_process()
        return cll_procfs_process(pid, &process) == 0 ? process.parent : nil
    }
}

extension ProcessID {
    fileprivate init(_ pid: pid_t, _ process: cll_process) {
        self.init(pid: pid, startTicks: process.start_ticks, image: ProgramImage(firstStack: process.image))
    }
}
