internal import Glibc
internal import LagMonitor

/// An HTTP server on a free port of 127.0.0.1 that answers `GET /wait?ms=N` after N milliseconds.
///
/// One thread, one request at a time: the workload has one main thread to stall. It lives as long as the process.
final class SlowServer: Sendable {
    let port: UInt16

    init() throws(WorkloadError) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw WorkloadError(call: "socket", code: errno) }
        do {
            port = try Self.listen(on: listener)
            try WorkloadThread.start { Self.serve(listener) }
        } catch {
            close(listener)
            throw error
        }
    }

    /// Binds to a port that the kernel chooses, and tells which.
    private static func listen(on listener: Int32) throws(WorkloadError) -> UInt16 {
        guard withAddress(port: 0, { bind(listener, $0, $1) }) == 0 else { throw WorkloadError(call: "bind", code: errno) }
        guard Glibc.listen(listener, 8) == 0 else { throw WorkloadError(call: "listen", code: errno) }
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let named = withUnsafeMutableBytes(of: &address) { bytes in
            getsockname(listener, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
        }
        guard named == 0 else { throw WorkloadError(call: "getsockname", code: errno) }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func serve(_ listener: Int32) {
        while true {
            let connection = accept(listener, nil, nil)
            if connection >= 0 {
                answer(connection)
                close(connection)
            } else if errno != EINTR && errno != ECONNABORTED {
                return
            }
        }
    }

    private static func answer(_ connection: Int32) {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = recv(connection, &buffer, buffer.count, 0)
        guard count > 0 else { return }
        sleepUntil(.now + waitingTime(in: String(decoding: buffer[..<count], as: UTF8.self)))
        let response = Array("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nlate\n".utf8)
        _ = send(connection, response, response.count, Int32(MSG_NOSIGNAL))
    }

    /// The N of `GET /wait?ms=N`; zero for anything else.
    static func waitingTime(in request: String) -> Duration {
        let start = "GET /wait?ms="
        guard request.hasPrefix(start) else { return .zero }
        return .milliseconds(Int(request.dropFirst(start.count).prefix(9).prefix { $0.isASCII && $0.isNumber }) ?? 0)
    }

    /// Calls `body` with the address of a port on 127.0.0.1.
    static func withAddress(port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }
}
