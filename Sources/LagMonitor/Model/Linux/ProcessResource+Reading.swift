internal import Glibc

extension ProcessResource {
    /// Of an environment; what is behind is not read.
    private static let maximumEnvironmentBytes = 256 << 10
    private static let maximumControlGroupBytes = 16 << 10
    private static let maximumMountBytes = 256 << 10

    /// Reads two or three files of `/proc`, some 100 µs; never on a hot path. What cannot be read is nil.
    /// - Parameter process: a process's number, or `self`.
    package init(of process: String) {
        self.init(
            environment: Self.content(of: "/proc/\(process)/environ", Self.maximumEnvironmentBytes),
            controlGroups: Self.text(Self.content(of: "/proc/\(process)/cgroup", Self.maximumControlGroupBytes)),
            mounts: Self.text(Self.content(of: "/proc/\(process)/mountinfo", Self.maximumMountBytes))
        )
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Up to that many bytes; empty where it cannot be read.
    private static func content(of path: String, _ limit: Int) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count < limit {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, min($0.count, limit - bytes.count)) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }
}
