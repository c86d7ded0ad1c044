import Foundation
import TestSupport

/// A control group created for one test, which must be removed when its processes have exited.
struct ControlGroupFolder {
    let path: String

    /// A possible mount point of the `cpu` controller of cgroup v1.
    static let cpu = "/sys/fs/cgroup/cpu"

    /// - Returns: nil if the kernel does not permit it, or a new group has no such `file`.
    init?(in parent: String, having file: String) {
        path = "\(parent)/lagmonitor-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        guard mkdir(path, 0o755) == 0 else { return nil }
        // An ordinary folder, if nothing is mounted, stays empty.
        guard access("\(path)/\(file)", W_OK) == 0 else {
            remove()
            return nil
        }
    }

    func write(_ text: String, to file: String) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(path)/\(file)"))
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
    }

    /// A killed process leaves its group slightly later.
    func remove() { _ = eventually { rmdir(path) == 0 || errno == ENOENT } }

    static let canLimitCPU = canMake(in: cpu, having: "cpu.cfs_quota_us")

    private static func canMake(in parent: String, having file: String) -> Bool {
        guard let group = ControlGroupFolder(in: parent, having: file) else { return false }
        group.remove()
        return true
    }
}
