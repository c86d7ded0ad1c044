internal import Foundation
internal import LagMonitor

/// Stalls its thread, in scenarios that test the path by which this code was reached.
enum Stall {
    @inline(never) static func compute(for milliseconds: Int) -> Int {
        StalledTime.begin()
        defer { StalledTime.end() }
        let deadline = Deadline(milliseconds)
        var hash = milliseconds
        while !deadline.isOver { for number in 0..<4_000 { hash = (hash &* 16_777_619 &+ (hash >> 7)) ^ number } }
        return hash
    }

    @inline(never) static func block(for milliseconds: Int) {
        StalledTime.begin()
        sleep(milliseconds: milliseconds)
        StalledTime.end()
    }
}

/// Open contexts of the main actor that wait. No record may name them as running.
enum Crowd {
    static func wait(_ count: Int) {
        for number in 0..<count {
            Task { @MainActor in
                await withStallContext(name: "waiting \(number)") { try? await Task.sleep(for: .milliseconds(1_500)) }
            }
        }
    }
}

/// A client and a server on 127.0.0.1.
enum Loopback {
    /// - Returns: the port of an HTTP server that responds late.
    static func slowServer(milliseconds: Int) -> Int {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var (address, length) = (address(port: 0), socklen_t(MemoryLayout<sockaddr_in>.size))
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(server, $0, length)
                listen(server, 16)
                getsockname(server, $0, &length)
            }
        }
        Thread.detachNewThread {
            while true {
                let client = accept(server, nil, nil)
                Thread.detachNewThread {
                    _ = receive(client)
                    usleep(UInt32(milliseconds) * 1_000)
                    send(client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
                    close(client)
                }
            }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Sends a text, and waits for the first part of the response.
    static func ask(_ port: Int, _ text: String) {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(client) }
        let isConnected = withUnsafePointer(to: address(port: port)) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard isConnected == 0 else { return }
        send(client, text)
        _ = receive(client)
    }

    private static func address(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }

    private static func send(_ socket: Int32, _ text: String) { _ = text.withCString { write(socket, $0, strlen($0)) } }

    private static func receive(_ socket: Int32) -> Int {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        return read(socket, &buffer, buffer.count)
    }
}
