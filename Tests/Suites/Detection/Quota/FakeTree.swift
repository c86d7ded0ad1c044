import Foundation

/// Files like the kernel's, below a temporary folder.
final class FakeTree {
    let root = FileManager.default.temporaryDirectory.path + "/lagmonitor-tree-\(UUID().uuidString)"

    init(cgroup: String, mountinfo: String, files: [String: String] = [:]) throws {
        try write(cgroup, to: "/proc/self/cgroup")
        try write(mountinfo, to: "/proc/self/mountinfo")
        for (path, text) in files { try write(text, to: path) }
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    func write(_ text: String, to path: String) throws {
        let file = URL(fileURLWithPath: root + path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: root + path) }
}
