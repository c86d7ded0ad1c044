internal import Foundation
internal import Glibc

/// A memory control group with a limit, created for one child. Supports v1 and v2.
struct MemoryGroup {
    let path: String

    /// - Throws: ``Unavailable`` if this machine does not permit it.
    init(limitBytes: Int) throws {
        let parents = [
            "/sys/fs/cgroup/memory\(Self.own("memory"))", "/sys/fs/cgroup/memory", "/sys/fs/cgroup\(Self.own(""))",
            "/sys/fs/cgroup",
        ]
        var reasons: [String] = []
        for parent in parents {
            let path = "\(parent)/lagdiagnosis-\(getpid())"
            guard mkdir(path, 0o755) == 0 else {
                reasons.append("\(parent): \(reasonText(errno))")
                continue
            }
            // A plain folder without a mount stays empty; so does a group without the controller.
            for file in ["memory.limit_in_bytes", "memory.max"] where access("\(path)/\(file)", W_OK) == 0 {
                let descriptor = open("\(path)/\(file)", O_WRONLY | O_CLOEXEC)
                defer { close(descriptor) }
                let text = "\(limitBytes)"
                guard write(descriptor, text, text.utf8.count) == text.utf8.count else { continue }
                self.path = path
                return
            }
            reasons.append("\(parent): no memory limit in a new group")
            rmdir(path)
        }
        throw Unavailable("cannot create a memory control group (\(reasons.joined(separator: "; ")))")
    }

    /// Removes the group. A process leaves its group only shortly after its exit.
    func remove() {
        for _ in 0..<200 where rmdir(path) != 0 && errno == EBUSY { usleep(10_000) }
    }

    /// This process's group in the hierarchy of a controller; in the unified hierarchy for an empty name.
    private static func own(_ controller: String) -> String {
        let text = (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) ?? ""
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            if parts.count == 3, parts[1].split(separator: ",").contains(Substring(controller)) || parts[1] == controller {
                return parts[2] == "/" ? "" : String(parts[2])
            }
        }
        return ""
    }
}
