import Glibc
internal import LagMonitor

/// A client of a service on the loopback interface that sends what no HTTP library sends: half a request, two at once, or none.
final class LoopbackConnection {
    private let descriptor: Int32

    /// Returns nil if the connection was refused.
    /// - Parameter receiveBytes: the size of the socket's receive buffer.
    init?(_ port: UInt16, receiveBytes: Int32? = nil) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var receiveBytes { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBytes, 4) }
        let isConnected = withUnsafePointer(to: Self.address(port)) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return nil }
    }

    deinit { close(descriptor) }

    /// The answer to one request over HTTP, head and body; nil if the port has no listener.
    /// - Parameter isEnough: stops reading an endless answer.
    static func get(_ path: String, _ port: UInt16, method: String = "GET", until isEnough: (String) -> Bool = { _ in false })
        -> String?
    {
        guard let connection = LoopbackConnection(port) else { return nil }
        connection.send("\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return connection.read(until: isEnough)
    }

    /// Sends as much as the peer accepts within half a second.
    /// - Returns: whether the connection is still open.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, flags) }
            if count > 0 {
                rest = rest.dropFirst(count)
                continue
            }
            guard errno == EAGAIN else { return false }
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&entry, 1, 500) > 0 else { return true }
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    func sendNoMore() { shutdown(descriptor, Int32(SHUT_WR)) }

    func ask(_ request: String) -> String {
        send(request)
        return read()
    }

    /// Reads until the end of the stream, until `isThere` is true, or for 30 s.
    func read(until isThere: (String) -> Bool = { _ in false }) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        let deadline = MonotonicTime.now + .seconds(30)
        while MonotonicTime.now < deadline, !isThere(String(decoding: bytes, as: UTF8.self)) {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 100) > 0 else { continue }
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
