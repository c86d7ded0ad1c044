/// The container in which a process runs, from the kernel's information. Pure: texts in, 64 hex digits out.
///
/// Forms of the component in a control group's path, for cgroup v1 and v2 (from the runtimes' sources):
///
/// | runtime | component |
/// |---|---|
/// | Docker, Kubernetes with the driver cgroupfs, Amazon ECS | `<id>` |
/// | Docker with the driver systemd | `docker-<id>.scope` |
/// | containerd | `cri-containerd-<id>.scope`, `kubepods-…:cri-containerd:<id>`, `nerdctl-<id>.scope` |
/// | CRI-O | `crio-<id>.scope` |
/// | Podman | `libpod-<id>.scope`, and `container` below it |
///
/// With a cgroup namespace of its own, the default in v2, a container sees `/` there. Then the mounts help, outside of
/// Kubernetes: Podman's `/run/.containerenv`, Docker's `/etc/hostname` (with `--network container:NAME` that is the other
/// container's). In a pod these files may belong to its sandbox, which is another container, so they are not used.
package enum ContainerID {
    package static let digits = 64
    private static let prefixes: Set<String> = ["", "docker", "cri-containerd", "crio", "libpod", "nerdctl"]

    /// From `/proc/PID/cgroup` (cgroups(7)): the innermost container of the first hierarchy that names one.
    package static func inControlGroups(_ text: String) -> String? {
        text.split(separator: "\n").lazy.compactMap { line -> String? in
            // `hierarchy:controllers:path`; the path may have colons.
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { return nil }
            return parts[2].split(separator: "/").reversed().lazy.compactMap(inComponent).first
        }.first
    }

    /// From `/proc/PID/mountinfo` (proc(5)): root and mount point are the fourth and fifth member of a line.
    package static func inMounts(_ text: String) -> String? {
        var (ofPodman, ofDocker): (String?, String?)
        for line in text.split(separator: "\n") {
            let members = line.split(separator: " ", maxSplits: 5)
            guard members.count > 4 else { continue }
            let root = members[3].split(separator: "/")
            if root.contains("kubelet") { return nil }
            switch members[4] {
            // Kubernetes mounts both into every container, wherever the container's own folder is.
            case "/dev/termination-log", "/var/run/secrets/kubernetes.io/serviceaccount": return nil
            case "/run/.containerenv": ofPodman = after("overlay-containers", in: root)
            case "/etc/hostname": ofDocker = after("containers", in: root)
            default: continue
            }
        }
        return ofPodman ?? ofDocker
    }

    private static func after(_ folder: Substring, in path: [Substring]) -> String? {
        guard let index = path.firstIndex(of: folder), index + 1 < path.count else { return nil }
        return isID(path[index + 1]) ? String(path[index + 1]) : nil
    }

    private static func inComponent(_ component: Substring) -> String? {
        let name = component.hasSuffix(".scope") ? component.dropLast(6) : component
        guard isID(name.suffix(digits)) else { return nil }
        let before = name.dropLast(digits)
        if before.isEmpty { return String(name) }
        guard let separator = before.last, separator == "-" || separator == ":" else { return nil }
        // In `slice:cri-containerd:id`, the runtime is between the colons.
        let runtime = before.dropLast().split(separator: ":", omittingEmptySubsequences: false).last ?? ""
        return prefixes.contains(String(runtime)) ? String(name.suffix(digits)) : nil
    }

    private static func isID(_ text: Substring) -> Bool {
        text.utf8.count == digits
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }
}
