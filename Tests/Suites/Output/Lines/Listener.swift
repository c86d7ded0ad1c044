import Glibc
import TestSupport
import Testing

@testable import LagMonitorDelivery
@testable import LagOutput

/// A listener for tests.
final class Listener {
    let address: StreamAddress
    private let descriptor: Int32

    init(unix path: String) throws {
        address = .unix(path: path)
        descriptor = try #require(boundUnixSocket(path, SOCK_STREAM))
        try #require(listen(descriptor, 8) == 0)
    }

    /// On the loopback interface; port 0: any.
    init(port: Int = 0, backlog: Int32 = 8) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = in_port_t(port).bigEndian
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        try #require(bound == 0 && listen(descriptor, backlog) == 0)
        _ = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        self.descriptor = descriptor
        address = .tcp(host: "127.0.0.1", port: Int(in_port_t(bigEndian: name.sin_port)))
    }

    deinit { close(descriptor) }

    /// The endpoint of a listener on the loopback interface.
    var socketName: SocketEndpoint {
        guard case .tcp(let host, let port) = address else { preconditionFailure("not TCP") }
        return SocketEndpoint.all(ofHost: host, port: port)[0]
    }

    /// Waits up to ten seconds for the next connection.
    func accept() throws -> Connection {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        try #require(poll(&entry, 1, 10_000) > 0, "no connection")
        let accepted = Glibc.accept(descriptor, nil, nil)
        try #require(accepted >= 0)
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        return Connection(accepted)
    }

    var hasConnection: Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0
    }
}

final class Connection: Sendable {
    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit { Glibc.close(descriptor) }

    /// Reads until nothing arrives for `milliseconds`, or until the end.
    func read(quiet milliseconds: Int32 = 100) -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, milliseconds) > 0 {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            text += buffer.prefix(count)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Shuts down sending, but keeps reading.
    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    func send(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Waits for the next complete line.
    func readLine() -> String {
        var text: [UInt8] = []
        var byte: UInt8 = 0
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while text.last != 10, poll(&entry, 1, 10_000) > 0, Glibc.read(descriptor, &byte, 1) == 1 { text.append(byte) }
        return String(decoding: text, as: UTF8.self)
    }
}
