internal import Glibc

extension ProcessResource {
    /// Of an environment; what is behind is not read.
    private static let maximumEnvironmentBytes = 256 << 10
    private static let maximumControlGroupBytes = 16 << 10
    private static let maximumMountBytes = 256 << 10

    /// Reads two or three files of `/proc`, some 100 µs; never on a hot path. What cannot be read is nil.
    /// - Parameters:
    ///   - process: a process's number, or `self`.
    ///   - observer: the same of who asks.
    package init(of process: String, observer: String = "self") {
        self.init(
            environment: Self.environment(of: process, observer: observer),
            controlGroups: Self.text(Self.content(of: "/proc/\(process)/cgroup", Self.maximumControlGroupBytes)),
            mounts: Self.text(Self.content(of: "/proc/\(process)/mountinfo", Self.maximumMountBytes))
        )
    }

    private static let maximumAncestors = 16
    private static let maximumStatusBytes = 4 << 10

    /// As the process was started with it. Programs that write their title over it (redis-server, nginx) leave zero bytes; then it is that of the
    /// nearest ancestor which has one, where the observer is an ancestor, too: what was started from there has inherited it. Of any other process that
    /// has the observer's host name, and so is in its pod, it is what the observer's environment says of the pod.
    private static func environment(of process: String, observer: String) -> [UInt8] {
        let own = content(of: "/proc/\(process)/environ", maximumEnvironmentBytes)
        guard !own.isEmpty, own.allSatisfy({ $0 == 0 }) else { return own }
        var inherited: [UInt8]?
        var ancestor = process
        for _ in 0..<maximumAncestors {
            guard let parent = parent(of: ancestor) else { break }
            ancestor = "\(parent)"
            let environment = content(of: "/proc/\(ancestor)/environ", maximumEnvironmentBytes)
            if inherited == nil, !environment.allSatisfy({ $0 == 0 }) { inherited = environment }
            if parent == Int32(observer) ?? getpid() { return inherited ?? [] }
        }
        guard sharesHostName(process, observer) else { return [] }
        return podVariables(content(of: "/proc/\(observer)/environ", maximumEnvironmentBytes))
    }

    /// The containers of a pod have one UTS namespace, pods have different ones.
    private static func sharesHostName(_ process: String, _ observer: String) -> Bool {
        guard let theirs = namespace(process), let own = namespace(observer) else { return false }
        return theirs == own
    }

    private static func namespace(_ process: String) -> ino_t? {
        var status = stat()
        return stat("/proc/\(process)/ns/uts", &status) == 0 ? status.st_ino : nil
    }

    private static func parent(of process: String) -> Int32? {
        let lines = text(content(of: "/proc/\(process)/status", maximumStatusBytes)).split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("PPid:") }) else { return nil }
        return Int32(line.dropFirst(5).drop { $0 == "\t" }).flatMap { $0 > 0 ? $0 : nil }
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Up to that many bytes; empty where it cannot be read.
    private static func content(of path: String, _ limit: Int) -> [UInt8] { ProcFile.bytes(at: path, limit: limit) ?? [] }
}
