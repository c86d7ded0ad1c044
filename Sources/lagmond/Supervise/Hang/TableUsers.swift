internal import Glibc
internal import LagRemote

/// Whether a process that must not act on another one could have written what an action on that one follows from.
///
/// Every process that has the shared loop table can write all of it: that a loop of its master does not move, too. Where it could end that process
/// itself, it gains nothing by that. Where it could not (a worker that gave its privileges up, below a master that kept them), nothing
/// in the table is worth an action.
///
/// Pure, but for what it is made of; one thread.
struct TableUsers {
    typealias IDs = Set<Int>

    struct Member: Hashable {
        let pid: pid_t
        let users: IDs
    }

    /// What was seen below the command since it runs: one that has ended may have left its claim behind.
    private var seen: Set<Member> = []
    private var root: pid_t = 0
    private static let maximumSeen = 4096

    /// Some 10 µs a process of the machine.
    mutating func look(below root: pid_t) {
        let members = root > 0 ? ProcessTree.members(below: root) : []
        add(members.map { Member(pid: $0, users: Self.users(of: $0)) }, below: root)
    }

    mutating func add(_ members: [Member], below root: pid_t) {
        if root != self.root { (self.root, seen) = (root, []) }
        // More of them are told apart by their users alone.
        for member in members where !member.users.isEmpty {
            seen.insert(seen.count < Self.maximumSeen ? member : Member(pid: 0, users: member.users))
        }
    }

    /// - Parameter isMapped: whether a process outside the command's tree has the table.
    /// - Returns: a process that could have written the table, and may not send signals to all of `targets`.
    func stranger(to targets: [IDs], isMapped: (pid_t) -> Bool) -> Member? {
        func isStranger(_ member: Member) -> Bool { targets.contains { !Self.may(member.users, signal: $0) } }
        if let found = seen.filter(isStranger).min(by: { $0.pid < $1.pid }) { return found }
        // One that has left the tree, as a daemon does, keeps the table.
        for pid in ProcessTree.parents().keys where pid != getpid() {
            let member = Member(pid: pid, users: Self.users(of: pid))
            if !member.users.isEmpty, isStranger(member), isMapped(pid) { return member }
        }
        return nil
    }

    /// kill(2): root, or who has the target's real or saved user for one of its own. (Which of its own it has at the moment it can change.)
    static func may(_ sender: IDs, signal target: IDs) -> Bool { sender.contains(0) || !sender.isDisjoint(with: target) }

    /// The real, effective, saved and file system user. Empty: it has ended.
    static func users(of process: pid_t) -> IDs { IDs(StatusFile(process: process).numbers("Uid")) }

    /// Who may send it signals: the real and the saved user.
    static func owners(of process: pid_t) -> IDs {
        let numbers = StatusFile(process: process).numbers("Uid")
        return numbers.count < 3 ? [] : [numbers[0], numbers[2]]
    }
}
