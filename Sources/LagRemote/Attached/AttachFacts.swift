internal import Glibc
internal import LagModel

/// The facts that decide whether this process may trace another one (ptrace(2), "Ptrace access mode checking").
struct AttachFacts: Sendable, Equatable {
    var ourUser: UInt32 = 0
    /// Real, effective, saved and file-system user of the target.
    var theirUsers: [UInt32] = []
    /// Whether this process has CAP_SYS_PTRACE, and whether it could get it.
    var hasCapability = false
    var canHaveCapability = true
    var sharesUserNamespace = true
    /// `kernel.yama.ptrace_scope`; 0 without Yama.
    var yamaScope = 0
    /// Whether the target's memory may be read: false if it has changed its user, or requested this (prctl(2), PR_SET_DUMPABLE).
    var isDumpable = true
    /// Whether the target has capabilities that this process lacks.
    var hasMoreRights = false
    /// Whether this process is under a seccomp filter, as in most containers.
    var isFiltered = false

    /// The first of the kernel's reasons, and a remedy.
    var explanation: (reason: String, remedy: String) {
        let grant =
            canHaveCapability
            ? "run lagmond as root, or grant it CAP_SYS_PTRACE (setcap cap_sys_ptrace+ep $(command -v lagmond))"
            : "grant CAP_SYS_PTRACE to this container (docker run --cap-add SYS_PTRACE; securityContext.capabilities.add: [SYS_PTRACE])"
        if yamaScope >= 3 {
            return (
                "kernel.yama.ptrace_scope is 3",
                "no process may trace until the machine is rebooted with another value; lagmond run -- works"
            )
        }
        if hasCapability {
            if !sharesUserNamespace {
                return (
                    "it is in another user namespace, where our CAP_SYS_PTRACE does not count",
                    "run lagmond inside it, or as root outside"
                )
            }
            if isFiltered {
                return ("a seccomp filter of this container forbids it", "allow ptrace and process_vm_readv in its profile")
            }
            return (
                "the kernel refuses it despite CAP_SYS_PTRACE",
                "a security module (AppArmor, SELinux) may forbid it: see its log"
            )
        }
        if let user = theirUsers.first(where: { $0 != ourUser }) {
            return ("it runs as user \(user), and lagmond as \(ourUser)", "run lagmond as user \(user), or \(grant)")
        }
        if yamaScope == 2 { return ("kernel.yama.ptrace_scope is 2", grant) }
        if !isDumpable { return ("it is not dumpable (it has changed its user, or requested this)", grant) }
        if yamaScope == 1 {
            return (
                "kernel.yama.ptrace_scope is 1: only processes that lagmond has started",
                "\(grant), or sysctl kernel.yama.ptrace_scope=0; lagmond run -- works"
            )
        }
        if hasMoreRights { return ("it has capabilities that lagmond lacks", grant) }
        return ("the kernel refuses it", grant)
    }

    /// Reads the facts. Never blocks.
    static func read(of process: Int32) -> AttachFacts {
        var facts = AttachFacts()
        facts.ourUser = geteuid()
        let (ours, theirs) = (StatusFile(process: getpid()), StatusFile(process: process))
        facts.theirUsers = theirs.numbers("Uid").map { UInt32(truncatingIfNeeded: $0) }
        facts.hasCapability = ours.bits("CapEff") & ptraceBit != 0
        facts.canHaveCapability = ours.bits("CapBnd") & ptraceBit != 0
        facts.hasMoreRights = theirs.bits("CapPrm") & ~ours.bits("CapPrm") != 0
        facts.isFiltered = ours.numbers("Seccomp").first == 2
        let yama = ProcFile.text(at: "/proc/sys/kernel/yama/ptrace_scope", limit: 16)
        facts.yamaScope = yama.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
        if let (own, other) = linked("/proc/self/ns/user", "/proc/\(process)/ns/user") {
            facts.sharesUserNamespace = own == other
        }
        var folder = stat()
        // The files of a process that is not dumpable belong to root (proc(5)).
        if stat("/proc/\(process)", &folder) == 0, let user = facts.theirUsers.dropFirst().first {
            facts.isDumpable = folder.st_uid == user
        }
        return facts
    }

    private static let ptraceBit: UInt64 = 1 << 19

    private static func linked(_ first: String, _ second: String) -> (UInt, UInt)? {
        var (own, other) = (stat(), stat())
        guard stat(first, &own) == 0, stat(second, &other) == 0 else { return nil }
        return (own.st_ino, other.st_ino)
    }
}
