internal import Glibc
internal import LagMonitor
internal import LagRemote

/// Checks whether a process that may not signal another one could have written the evidence that triggers an action on that one.
///
/// Every process that maps the shared loop table can write all of it, even a false claim that a loop of its master hangs. If it
/// could end that process itself, it gains nothing. If it could not (a worker that dropped its privileges, below a master that
/// kept them), the table is not sufficient evidence for an action.
///
/// Reads /proc. One thread.
struct TableUsers {
    typealias IDs = Set<Int>

    struct Member: Hashable {
        let pid: pid_t
        let users: IDs
    }

    /// All processes seen below the command since it started: an exited one may have left a false claim.
    private var seen: Set<Member> = []
    private var root: pid_t = 0
    private static let maximumSeen = 4096
    private(set) var listedAt: MonotonicTime?
    /// A list of the command's processes takes 10 µs per process of the machine.
    private static let listInterval: Duration = .seconds(1)

    /// Call it while a loop seems to hang: if an action follows, the users at the moment at which that began must be known, and
    /// those after it. (A busy loop often has pending work for a moment.)
    mutating func lookIfDue(below root: pid_t, at now: MonotonicTime = .now) {
        if let listedAt, now - listedAt < Self.listInterval { return }
        listedAt = now
        look(below: root)
    }

    /// Takes some 10 µs per process of the machine.
    mutating func look(below root: pid_t) {
        let members = root > 0 ? ProcessTree.members(below: root) : []
        add(members.map { Member(pid: $0, users: Self.users(of: $0)) }, below: root)
    }

    mutating func add(_ members: [Member], below root: pid_t) {
        if root != self.root { (self.root, seen) = (root, []) }
        // More of them are distinguished only by their users.
        for member in members where !member.users.isEmpty {
            seen.insert(seen.count < Self.maximumSeen ? member : Member(pid: 0, users: member.users))
        }
    }

    /// - Parameter isMapped: whether a process outside the command's tree has the table.
    /// - Returns: a process that could have written the table, and may not send signals to all of `targets`.
    func stranger(to targets: [IDs], isMapped: (pid_t) -> Bool) -> Member? {
        func isStranger(_ member: Member) -> Bool { targets.contains { !Self.may(member.users, signal: $0) } }
        if let found = seen.filter(isStranger).min(by: { $0.pid < $1.pid }) { return found }
        // A process that has left the tree, as a daemon does, keeps the table.
        for pid in ProcessTree.parents().keys where pid != getpid() {
            let member = Member(pid: pid, users: Self.users(of: pid))
            if !member.users.isEmpty, isStranger(member), isMapped(pid) { return member }
        }
        return nil
    }

    /// kill(2): root, or a process one of whose user IDs is the target's real or saved one. (It can switch between its own IDs.)
    static func may(_ sender: IDs, signal target: IDs) -> Bool { sender.contains(0) || !sender.isDisjoint(with: target) }

    /// The real, effective, saved and file system user. Empty: it has exited.
    static func users(of process: pid_t) -> IDs { IDs(StatusFile(process: process).numbers("Uid")) }

    /// The users who may send it signals: the real and the saved one.
    static func owners(of process: pid_t) -> IDs {
        let numbers = StatusFile(process: process).numbers("Uid")
        return numbers.count < 3 ? [] : [numbers[0], numbers[2]]
    }
}
