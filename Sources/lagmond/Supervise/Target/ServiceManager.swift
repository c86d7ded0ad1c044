internal import Glibc
internal import LagMonitor

/// The service manager that started lagmond, if it expects notifications: the protocol of `sd_notify(3)`, one datagram each.
///
/// Any thread. Never blocks: a manager that does not read loses notifications.
struct ServiceManager: Sendable {
    /// A path, or `@` and an abstract name.
    private let address: String
    /// The interval in which it expects a keep-alive; nil: none expected.
    let watchdog: Duration?

    /// - Parameter environment: with `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    init?(_ environment: [String: String], process: pid_t = getpid()) {
        guard let address = environment["NOTIFY_SOCKET"], address.hasPrefix("/") || address.hasPrefix("@"),
            address.utf8.count < Self.longestAddress, address.utf8.count > 1
        else { return nil }
        self.address = address
        let isOurs = environment["WATCHDOG_PID"].map { pid_t($0) == process } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap(Int64.init) ?? 0
        watchdog = isOurs && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// The size of `sun_path`, including the NUL.
    private static let longestAddress = 108

    /// - Parameter lines: `READY=1`, `STATUS=…`.
    /// - Returns: whether it was sent.
    @discardableResult
    func notify(_ lines: String...) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(address.utf8)
        withUnsafeMutableBytes(of: &name.sun_path) { path in
            path.copyBytes(from: bytes)
            // An abstract name begins with a zero byte, and ends with its last one.
            if bytes[0] == UInt8(ascii: "@") { path[0] = 0 }
        }
        let isAbstract = bytes[0] == UInt8(ascii: "@")
        let length = MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1)
        let text = Array(lines.joined(separator: "\n").utf8)
        return withUnsafePointer(to: name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(
                    descriptor,
                    text,
                    text.count,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT),
                    address,
                    socklen_t(length)
                )
                    == text.count
            }
        }
    }

    /// A reload begins; `READY=1` ends it.
    func notifyReloading() {
        notify("RELOADING=1", "MONOTONIC_USEC=\(MonotonicTime.now.nanoseconds / 1000)")
    }
}
