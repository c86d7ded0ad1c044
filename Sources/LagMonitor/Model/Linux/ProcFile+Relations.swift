internal import Glibc

extension ProcFile {
    /// The kinds of namespaces (namespaces(7)).
    package enum Namespace: String {
        case mount = "mnt"
        case process = "pid"
        case hostName = "uts"
    }

    /// The namespace's inode, the same for all processes in the namespace; nil if the kernel denies it. 2 µs; any thread.
    /// - Parameter process: nil: this process, also if `/proc` is that of another pid namespace.
    package static func namespace(_ kind: Namespace, of process: Int32?) -> UInt64? {
        var status = stat()
        let folder = process.map { "\($0)" } ?? "self"
        return stat("/proc/\(folder)/ns/\(kind.rawValue)", &status) == 0 ? UInt64(status.st_ino) : nil
    }

    /// The process's parent; nil if no parent is visible here, or if the process has exited.
    package static func parent(of process: Int32) -> Int32? {
        guard let status = text(at: "/proc/\(process)/status", limit: 4 << 10),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("PPid:") }),
            let parent = Int32(line.dropFirst(5).drop { $0 == "\t" }), parent > 0
        else { return nil }
        return parent
    }
}
