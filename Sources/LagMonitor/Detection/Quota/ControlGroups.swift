/// Finds the folders of a process's control groups, from `/proc/<pid>/cgroup` and `/proc/<pid>/mountinfo`.
///
/// Formats: `cgroups(7)` and `proc_pid_mountinfo(5)`. Allocates; not for the watchdog.
struct ControlGroups {
    /// The requested hierarchy.
    enum Hierarchy: Equatable {
        case unified
        case controller(String)
    }

    private let memberships: [(hierarchy: [Hierarchy], path: String)]
    private let mounts: [Mount]

    private struct Mount {
        let hierarchy: [Hierarchy]
        /// The group that the mount point shows. It is not always the topmost one: a container may see only its own part.
        let root: [Substring]
        let point: String
    }

    init(cgroup: String, mountinfo: String) {
        memberships = cgroup.split(separator: "\n").compactMap { Self.membership($0) }
        mounts = mountinfo.split(separator: "\n").compactMap { Self.mount($0) }
    }

    /// The group's path as the kernel names it; nil if the process is in no group of this hierarchy.
    func path(in hierarchy: Hierarchy) -> String? {
        memberships.first { $0.hierarchy.contains(hierarchy) }?.path
    }

    /// The group's folder, then its parent's and so on up to the mount point, `limit` of them at most. Empty if no mount shows
    /// the group.
    func folders(in hierarchy: Hierarchy, limit: Int) -> [String] {
        guard let path = path(in: hierarchy) else { return [] }
        let names = path.split(separator: "/")
        // A group outside the namespace begins with `..`, and so does the root of a mount that shows it. Below such a mount's
        // root, or without one, `..` would lead out of the mount.
        let mount =
            mounts
            .filter { $0.hierarchy.contains(hierarchy) && names.starts(with: $0.root) }
            .filter { !names.dropFirst($0.root.count).contains("..") }
            .min { $0.root.count < $1.root.count }  // the one that shows the most ancestors
        guard let mount else { return [] }
        let below = names.dropFirst(mount.root.count)
        return (0...below.count).prefix(limit).map { level in
            below.dropLast(level).reduce(mount.point == "/" ? "" : mount.point) { $0 + "/" + $1 }
        }
    }

    /// `4:cpu,cpuacct:/path`; for the unified hierarchy `0::/path`. The path may contain colons.
    private static func membership(_ line: Substring) -> (hierarchy: [Hierarchy], path: String)? {
        let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3 else { return nil }
        if fields[0] == "0", fields[1].isEmpty { return ([.unified], String(fields[2])) }
        return (controllers(fields[1]), String(fields[2]))
    }

    /// `36 35 98:0 /root /point options [optional fields] - type source super-options`.
    private static func mount(_ line: Substring) -> Mount? {
        let fields = line.split(separator: " ")
        guard let dash = fields.firstIndex(of: "-"), dash >= 6, fields.count > dash + 3 else { return nil }
        let hierarchy: [Hierarchy]
        switch fields[dash + 1] {
        case "cgroup2": hierarchy = [.unified]
        case "cgroup": hierarchy = controllers(fields[dash + 3])
        default: return nil
        }
        let root = unescaped(fields[3]).split(separator: "/")
        return Mount(hierarchy: hierarchy, root: root, point: unescaped(fields[4]))
    }

    private static func controllers(_ list: Substring) -> [Hierarchy] {
        list.split(separator: ",").map { .controller(String($0)) }
    }

    /// A space, tab, newline or backslash is written as `\` and three octal digits.
    private static func unescaped(_ field: Substring) -> String {
        guard field.contains("\\") else { return String(field) }
        var bytes: [UInt8] = []
        var rest = field.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8) {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
