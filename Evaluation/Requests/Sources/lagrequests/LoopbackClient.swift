internal import Foundation

/// A blocking connection to a server on the loopback interface.
final class LoopbackClient {
    private let descriptor: Int32

    init?(port: Int) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { return nil }
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) -> Bool { Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count }

    /// Reads at least this many bytes.
    func receive(_ count: Int) -> [UInt8]? {
        var (received, part) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        while received.count < count {
            let length = recv(descriptor, &part, part.count, 0)
            guard length > 0 else { return nil }
            received += part[..<length]
        }
        return received
    }

    /// Runs each client on a thread, and returns when the last one has ended.
    static func runAll(_ requests: Service.Requests, _ body: @escaping @Sendable () -> Void) {
        let clients = DispatchGroup()
        for _ in 0..<Service.clients {
            clients.enter()
            Thread.detachNewThread {
                body()
                clients.leave()
            }
        }
        clients.wait()
    }
}
