internal import CLagLinux
internal import Glibc
internal import LagModel

/// Identifies a process; a pid alone is reused.
struct ProcessIdentity: Sendable, Equatable {
    let pid: Int32
    /// In clock ticks since boot: field 22 of `/proc/<pid>/stat` (proc(5)). 0 if the kernel does not report it.
    let startTicks: UInt64
    /// The pid namespace in which `pid` is valid: its inode. 0 if the kernel does not report it.
    let namespace: UInt64
    /// As in ``ProcessContext/bootID``.
    let bootID: String

    static func current(bootID: String) -> ProcessIdentity {
        ProcessIdentity(pid: getpid(), startTicks: startTicks(of: getpid()) ?? 0, namespace: ownNamespace, bootID: bootID)
    }

    /// Whether that process still exists, as far as this one can see; nil: it cannot see that.
    func isAlive(bootID: String) -> Bool? {
        guard bootID == self.bootID else { return false }
        guard namespace == Self.ownNamespace else { return nil }
        guard let ticks = Self.startTicks(of: pid) else {
            // Without a descriptor, for example, nothing is known about it.
            return kill(pid, 0) != 0 && errno == ESRCH ? false : nil
        }
        return ticks == startTicks
    }

    private static var ownNamespace: UInt64 { ProcFile.namespace(.process, of: nil) ?? 0 }

    private static func startTicks(of pid: Int32) -> UInt64? {
        var ticks: UInt64 = 0
        return cll_procfs_start_ticks(pid, &ticks) == 0 ? ticks : nil
    }
}
