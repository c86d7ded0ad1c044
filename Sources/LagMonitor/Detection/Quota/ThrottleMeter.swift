internal import LagModel

/// Reads how long the quotas of a process's control groups, its own and their ancestors', have kept it from running.
///
/// Two sources, in this order:
/// 1. `cpu.stat.local` (Linux 6.6): the time for which this group was throttled, by its own or an ancestor's quota. It includes
///    quotas beyond the container's view, and only waits in which the group had something to run.
/// 2. Without it, `cpu.stat` of the group and of each ancestor up to the mount point, because a group's file covers only its own
///    quota. They are added up: the waits of two levels may overlap, but need not, so only the sum is never too small. It is too
///    large if an ancestor ran out of quota while this group had nothing to run.
///
/// A process can be moved to another group: ``membership(of:root:)`` shows this, off the watchdog thread. All threads are assumed
/// to be in the group of the process (threaded groups are not followed).
package struct ThrottleMeter: Sendable {
    /// How many nested groups are read if each must be; the innermost ones are used.
    static let levelLimit = 8
    /// The limit for reading a whole file; `mountinfo` of a host with thousands of containers fits.
    private static let wholeSizeLimit = 16 << 20

    /// C strings, created in advance so that a reading allocates nothing.
    private let files: [[CChar]]

    /// Finds the files. Allocates and takes about a millisecond. It also makes one reading, so that the first one on the watchdog
    /// thread finds everything warm.
    /// - Parameters:
    ///   - root: the folder in which `/proc` and the mount points are found; for tests.
    ///   - process: the process of the groups; by default this one. The mount points are looked up in this process's own folders,
    ///     in which the files are opened: the other process's may be a container's.
    /// - Returns: nil if no mounted hierarchy with processor time shows the process's group.
    package init?(root: String = "", process: Int32? = nil) {
        guard let cgroup = Self.membership(of: process, root: root),
            let mountinfo = ProcFile.text(at: root + "/proc/self/mountinfo", limit: Self.wholeSizeLimit)
        else { return nil }
        let groups = ControlGroups(cgroup: cgroup, mountinfo: mountinfo)
        let folders = groups.folders(in: Self.cpuHierarchy(groups), limit: Self.levelLimit).map { root + $0 }
        guard let group = folders.first else { return nil }

        // A group in which the controller is not enabled has an empty file; then its parent is the one that is scheduled.
        let local = folders.lazy.map { Self.cString($0 + "/cpu.stat.local") }.first { Self.reads($0, Self.throttledTime) }
        if let local {
            files = [local]
        } else {
            files = folders.map { Self.cString($0 + "/cpu.stat") }.filter { KernelFile.withText(at: $0) { _ in true } ?? false }
            guard files.first == Self.cString(group + "/cpu.stat") else { return nil }
        }
        guard read() != nil else { return nil }
    }

    /// Time out of quota since the groups exist, in nanoseconds (``ThrottleReading/throttledNanoseconds``).
    ///
    /// Any thread; no lock, no allocation; one small file at about 5 µs, or eight if the kernel does not add up itself.
    /// - Returns: nil if a file cannot be read any more (the group is gone).
    package func read() -> UInt64? {
        var throttled: UInt64 = 0
        var level = 0
        while level < files.count {
            // A group without a quota has no such number.
            guard let time = KernelFile.withText(at: files[level], { Self.throttledTime($0) ?? 0 }) else { return nil }
            throttled = throttled.saturatingSum(time)
            level += 1
        }
        return throttled
    }

    /// The groups of a process, as the kernel writes them; nil if it is gone.
    ///
    /// Not for the watchdog: it allocates, and for this the kernel takes the lock of all control groups.
    static func membership(of process: Int32?, root: String = "") -> String? {
        ProcFile.text(at: "\(root)/proc/\(process.map(String.init) ?? "self")/cgroup", limit: wholeSizeLimit)
    }

    /// The `cpu` controller is in one hierarchy at a time: in a separate one (v1), or else in the unified one.
    private static func cpuHierarchy(_ groups: ControlGroups) -> ControlGroups.Hierarchy {
        groups.path(in: .controller("cpu")) != nil ? .controller("cpu") : .unified
    }

    /// In nanoseconds: v2 writes `throttled_usec`, v1 `throttled_time` in nanoseconds.
    private static func throttledTime(_ text: UnsafeRawBufferPointer) -> UInt64? {
        KernelFile.number(named: "throttled_usec", in: text).map { $0.saturatingProduct(1_000) }
            ?? KernelFile.number(named: "throttled_time", in: text)
    }

    private static func reads(_ path: [CChar], _ value: (UnsafeRawBufferPointer) -> UInt64?) -> Bool {
        KernelFile.withText(at: path, value) != nil
    }

    private static func cString(_ path: String) -> [CChar] { Array(path.utf8CString) }
}
