internal import Foundation
internal import Glibc

/// Requests to the HTTP service of a running lagmond, which must respond to a valid request after each of them.
final class HttpTarget: FuzzTarget {
    static let name = "http"
    private var process = Process()
    private let lagmond: String
    private let folder: String
    private let port: UInt16
    let seeds = [
        "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "GET /healthz HTTP/1.0\r\n\r\n",
        "GET /stalls?n=1 HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HEAD * HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    ].map { Array($0.utf8) }
    let tokens = [
        "\r\n", "\n", "\r", ":", " ", "HTTP/2.0", "Content-Length: -1\r\n", "Content-Length: 99999999999999999999\r\n",
        "Transfer-Encoding: chunked\r\n",
        "ffffffffffffffff\r\n", "%00", "../", "?", "Upgrade: websocket\r\n", String(repeating: "a", count: 9000),
    ]

    init(_ surroundings: FuzzSurroundings) throws {
        guard let lagmond = surroundings.lagmond else { throw NeedsLagmond() }
        guard let port = Self.freePort() else { throw FuzzError("no port") }
        (self.port, self.lagmond, folder) = (port, lagmond, surroundings.folder)
        try start()
    }

    private func start() throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: lagmond)
        // lagmond exits by itself, even if this process is killed.
        process.arguments = ["run", "--listen", "127.0.0.1:\(port)", "--output", "/dev/null", "--duration", "60"]
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        for _ in 0..<500 where !isAnswered { usleep(10_000) }
        guard isAnswered else { throw FuzzError("lagmond does not respond") }
    }

    func finish() { process.terminate() }

    func read(_ input: [UInt8]) throws {
        _ = exchange(input, waitMilliseconds: 5)
        if !process.isRunning, process.terminationReason == .exit, process.terminationStatus == 0 { return try start() }
        guard process.isRunning else { throw FuzzError("lagmond exited with \(process.terminationStatus)") }
        guard isAnswered else { throw FuzzError("lagmond no longer responds") }
    }

    private var isAnswered: Bool {
        let answer = exchange(Array("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8), waitMilliseconds: 5000)
        return answer.starts(with: Array("HTTP/1.1 200".utf8))
    }

    /// The first part of the response, if it arrives within this time.
    private func exchange(_ request: [UInt8], waitMilliseconds: Int32) -> [UInt8] {
        let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard connection >= 0 else { return [] }
        defer { close(connection) }
        var address = Self.loopback(port)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return [] }
        // A request that exceeds the kernel's buffer is truncated.
        _ = send(connection, request, request.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        var entry = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, waitMilliseconds) > 0 else { return [] }
        var answer = [UInt8](repeating: 0, count: 4096)
        let count = recv(connection, &answer, answer.count, Int32(MSG_DONTWAIT))
        return count > 0 ? Array(answer[..<count]) : []
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        address.sin_port = port.bigEndian
        return address
    }

    private static func freePort() -> UInt16? {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { return nil }
        defer { close(listener) }
        var address = loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && getsockname(listener, $0, &size) == 0
            } ? UInt16(bigEndian: pointer.pointee.sin_port) : nil
        }
    }
}
