extension ProcessResource {
    /// The limit for an environment; the rest is not read.
    package static let maximumEnvironmentBytes = 256 << 10
    private static let maximumControlGroupBytes = 16 << 10
    private static let maximumMountBytes = 256 << 10

    /// Reads two or three files of `/proc`, some 100 µs; never on a hot path. What cannot be read is nil.
    /// - Parameters:
    ///   - process: a process's number, or `self`.
    ///   - environment: if it is known; otherwise the one with which the process was started.
    package init(of process: String, environment: [UInt8]? = nil) {
        func text(_ path: String, _ limit: Int) -> String { ProcFile.text(at: path, limit: limit) ?? "" }
        self.init(
            environment: environment ?? ProcFile.bytes(at: "/proc/\(process)/environ", limit: Self.maximumEnvironmentBytes) ?? [],
            controlGroups: text("/proc/\(process)/cgroup", Self.maximumControlGroupBytes),
            mounts: text("/proc/\(process)/mountinfo", Self.maximumMountBytes)
        )
    }
}
