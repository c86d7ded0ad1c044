/// Reads for how long the process's control group was out of processor time (its own quota's or an ancestor's) or frozen.
///
/// The watchdog asks only when a wait ended late: a meter that is not asked costs nothing. Whether there is a quota is not
/// checked, because one can be set at any time.
///
/// Three sources, in this order:
/// 1. `cpu.stat.local` (Linux 6.6): the time for which this group was throttled, whosever quota caused it. It counts quotas
///    beyond the container's view too, and only pauses in which the group had something to run.
/// 2. Without it, `cpu.stat` of the group and of each ancestor up to the mount point, because a group's file knows of its own
///    quota alone. They are added up: the pauses of two levels may overlap, but need not, so that only the sum is never too
///    small. It is too great when an ancestor ran out of quota while this group had nothing to run.
/// 3. `cgroup.stat.local` (Linux 6.17, unified hierarchy): the time frozen, by itself or by an ancestor.
///
/// A process can be moved to another group: ``isCurrent()`` says so, off the watchdog thread. All threads are taken to be in the
/// group of the process (threaded groups are not followed).
package struct ThrottleMeter: Sendable {
    /// How many nested groups are read where each must be; the innermost ones are taken.
    static let levelLimit = 8

    private let procFolder: String
    private let cpuPath: String
    private let freezerPath: String?
    private let hierarchy: ControlGroups.Hierarchy
    /// C strings, made beforehand so that a reading allocates nothing.
    private let quotaFiles: [[CChar]]
    private let ownFile: [CChar]?
    private let frozenFile: [CChar]?

    /// Finds the files. Allocates and takes about a millisecond; it also makes one reading, so that the first one on the
    /// watchdog thread finds everything warm.
    /// - Parameters:
    ///   - root: the folder in which `/proc` and the mount points are found; for tests.
    ///   - process: whose groups; this process without it.
    /// - Returns: nil when no mounted hierarchy with processor time shows the process's group.
    package init?(root: String = "", process: Int32? = nil) {
        procFolder = "\(root)/proc/\(process.map(String.init) ?? "self")"
        guard let groups = Self.groups(procFolder) else { return nil }
        hierarchy = Self.cpuHierarchy(groups)
        let folders = groups.folders(in: hierarchy, limit: Self.levelLimit).map { root + $0 }
        guard let cpuPath = groups.path(in: hierarchy), let group = folders.first else { return nil }
        self.cpuPath = cpuPath

        // A group in which the controller is not enabled has the file and nothing in it; its parent is then the one that
        // is scheduled.
        let local = folders.firstIndex { Self.reads(Self.cString($0 + "/cpu.stat.local"), Self.throttledTime) }
        if let local {
            ownFile = Self.cString(folders[local] + "/cpu.stat.local")
            quotaFiles = [Self.cString(folders[local] + "/cpu.stat")]
        } else {
            ownFile = nil
            quotaFiles = folders.map { Self.cString($0 + "/cpu.stat") }.filter {
                KernelFile.withText(at: $0) { _ in true } ?? false
            }
            guard quotaFiles.first == Self.cString(group + "/cpu.stat") else { return nil }
        }

        freezerPath = groups.path(in: .unified)
        frozenFile = groups.folders(in: .unified, limit: 1).first
            .map { Self.cString(root + $0 + "/cgroup.stat.local") }
            .flatMap { Self.reads($0, Self.frozenTime) ? $0 : nil }
        guard read() != nil else { return nil }
    }

    /// The sums up to now. Any thread; no lock, no allocation; up to eight small files at about 5 µs each.
    /// - Returns: nil when a file cannot be read any more (the group is gone).
    package func read() -> Throttling? {
        var throttled: UInt64 = 0
        var count: UInt64?
        var level = 0
        while level < quotaFiles.count {
            let ended: Void? = KernelFile.withText(at: quotaFiles[level]) { text in
                throttled = throttled.saturatingSum(Self.throttledTime(text) ?? 0)
                if let more = KernelFile.number(named: "nr_throttled", in: text) { count = (count ?? 0).saturatingSum(more) }
                return ()
            }
            guard ended != nil else { return nil }
            level += 1
        }
        if let ownFile {
            guard let own = KernelFile.withText(at: ownFile, Self.throttledTime) else { return nil }
            throttled = own
        }
        let frozen = frozenFile.flatMap { KernelFile.withText(at: $0, Self.frozenTime) }
        return Throttling(throttledNanoseconds: throttled, throttledCount: count, frozenNanoseconds: frozen)
    }

    /// Whether the process is still in the groups that were found. If not, a new meter is needed.
    ///
    /// Not for the watchdog: it allocates, and the kernel takes the lock of all control groups for it.
    package func isCurrent() -> Bool {
        guard let groups = Self.groups(procFolder) else { return false }
        return groups.path(in: hierarchy) == cpuPath && groups.path(in: .unified) == freezerPath
    }

    /// The `cpu` controller is in one hierarchy at a time: in one of its own (v1), or else in the unified one.
    private static func cpuHierarchy(_ groups: ControlGroups) -> ControlGroups.Hierarchy {
        groups.path(in: .controller("cpu")) != nil ? .controller("cpu") : .unified
    }

    private static func groups(_ folder: String) -> ControlGroups? {
        guard let cgroup = KernelFile.contents(folder + "/cgroup"), let mountinfo = KernelFile.contents(folder + "/mountinfo")
        else { return nil }
        return ControlGroups(cgroup: cgroup, mountinfo: mountinfo)
    }

    /// In nanoseconds: v2 writes `throttled_usec`, v1 `throttled_time` in nanoseconds.
    private static func throttledTime(_ text: UnsafeRawBufferPointer) -> UInt64? {
        KernelFile.number(named: "throttled_usec", in: text).map(nanoseconds)
            ?? KernelFile.number(named: "throttled_time", in: text)
    }

    private static func frozenTime(_ text: UnsafeRawBufferPointer) -> UInt64? {
        KernelFile.number(named: "frozen_usec", in: text).map(nanoseconds)
    }

    private static func nanoseconds(microseconds: UInt64) -> UInt64 {
        let (product, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
        return overflow ? .max : product
    }

    private static func reads(_ path: [CChar], _ value: (UnsafeRawBufferPointer) -> UInt64?) -> Bool {
        KernelFile.withText(at: path, value) != nil
    }

    private static func cString(_ path: String) -> [CChar] { Array(path.utf8CString) }
}
