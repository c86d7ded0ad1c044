internal import CLagRemote
internal import Glibc
internal import LagRemote

/// A process and its descendants at one moment, each as a pidfd: a process that reuses one of the numbers is not meant.
struct ProcessTree: ~Copyable {
    private struct Member {
        let pid: pid_t
        let pidfd: Int32
    }

    private var members: [Member] = []

    init() {}

    /// Adds what is below `root` now, and `root` itself. Some 10 µs a process of the machine.
    mutating func add(below root: pid_t) {
        let parents = Self.parents()
        for pid in Self.members(below: root, parents)
        where pid != getpid() && !members.contains(where: { $0.pid == pid && !Self.hasEnded($0.pidfd) }) {
            let pidfd = clr_pidfd_open(pid)
            guard pidfd >= 0 else { continue }
            // Between the list and the descriptor the number may have been reused.
            guard pid == root || Self.parent(of: pid) == parents[pid] else {
                close(pidfd)
                continue
            }
            members.append(Member(pid: pid, pidfd: pidfd))
        }
    }

    /// `root` and what is below it now. Some 10 µs a process of the machine.
    static func members(below root: pid_t) -> Set<pid_t> { members(below: root, parents()) }

    /// Whether a process is `root` or below it now. Some 10 µs a generation.
    static func contains(_ process: pid_t, below root: pid_t) -> Bool {
        guard root > 0 else { return false }
        var member = process
        while member > 0, member != root { member = parent(of: member) ?? 0 }
        return member == root
    }

    private static func members(below root: pid_t, _ parents: [pid_t: pid_t]) -> Set<pid_t> {
        var found: Set<pid_t> = [root]
        // Children have been listed before or after their parents: until nothing is added.
        var isGrowing = true
        while isGrowing {
            let fresh = parents.filter { !found.contains($0.key) && found.contains($0.value) }.map(\.key)
            isGrowing = !fresh.isEmpty
            found.formUnion(fresh)
        }
        return found
    }

    var living: Int { members.count { !Self.hasEnded($0.pidfd) } }

    func kill() { for member in members { _ = clr_pidfd_kill(member.pidfd, SIGKILL) } }

    static func hasEnded(_ pidfd: Int32) -> Bool {
        var entry = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    deinit { for member in members { close(member.pidfd) } }

    /// Each process of the machine with its parent.
    private static func parents() -> [pid_t: pid_t] {
        var parents: [pid_t: pid_t] = [:]
        guard let folder = opendir("/proc") else { return parents }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if let pid = pid_t(name), let parent = parent(of: pid) { parents[pid] = parent }
        }
        return parents
    }

    /// From `stat`, field 4 (proc(5)); the name in field 2 may hold anything, parentheses too.
    private static func parent(of pid: pid_t) -> pid_t? {
        let text = ProcFile.text(at: "/proc/\(pid)/stat", limit: 1024) ?? ""
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        return fields.count > 1 ? pid_t(fields[1]) : nil
    }
}
