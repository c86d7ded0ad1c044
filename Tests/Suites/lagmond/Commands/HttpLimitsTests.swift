import Dispatch
import Glibc
internal import LagMonitor
import LagOutput
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// What clients can take from the HTTP service, which is one of this process, with short times.
@Suite("HTTP limits", .serialized)
struct HttpLimitsTests {
    private struct Nothing: HttpStatusSource {
        func isWatching() async -> Bool { true }
        var statistics: StallMonitorStatistics { StallMonitorStatistics() }
        var lags: [StallCounts.LoopKey: UInt64] { [:] }
        var targets: [TargetStatus] { [] }
    }

    private let live = LiveLines(
        counts: StallCounts(places: []),
        context: ProcessContext(pid: 1, processName: "p", hostName: "h", bootID: String(repeating: "0", count: 32)),
        heartbeat: .seconds(60)
    )
    private let port: UInt16

    init() throws {
        var limits = HttpLimits()
        limits.connections = 12
        limits.headMilliseconds = 1500
        limits.answerMilliseconds = 500
        limits.closeMilliseconds = 300
        let service = HttpService(
            address: try #require(ListenAddress("0")),
            live: live,
            output: HealthTrackingSink(MemorySink()),
            limits: limits
        )
        port = try service.start(Nothing()).port
    }

    @Test func `heads without an end hold nobody up`() throws {
        // What blocked the service for minutes: two clients, 2 MB each, no newline.
        let floods = try (0..<2).map { _ in try #require(Connection(port)) }
        let flood = Array("GET /".utf8) + [UInt8](repeating: UInt8(ascii: "a"), count: 2_000_000)
        let before = ProcessTime.now
        for flooding in floods { flooding.send(flood) }
        let answer = try #require(Connection(port)?.ask("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"))
        #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
        for flooding in floods {
            let refusal = flooding.readToEnd()
            #expect(refusal.hasPrefix("HTTP/1.1 431"), "\(refusal)")
        }
        #expect(ProcessTime.now - before < 1, "seconds of a processor")
    }

    @Test(arguments: [
        ("GET /" + String(repeating: "a", count: 17_000) + " HTTP/1.1\r\n\r\n", "431"),
        ("GET / HTTP/1.1\r\n" + (0..<101).map { "h\($0): a\r\n" }.joined() + "\r\n", "431"),
        ("GET / HTTP/1.1\r\nA: " + String(repeating: "a", count: 17_000) + "\r\n\r\n", "431"),
        (String(repeating: "\r\n", count: 10_000), "431"),
        ("GET / HTTP/1.1\r\n" + (0..<99).map { "h\($0): a\r\n" }.joined() + "\r\n", "404"),
        ("SSH-2.0-OpenSSH\r\n\r\n", "400"),
        ("GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400"),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 900000\r\n\r\n" + String(repeating: "a", count: 900_000), "405"),
        ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n", "200"),
    ]) func `a request has bounds`(request: String, status: String) throws {
        let answer = try #require(Connection(port)?.ask(request))
        #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer.prefix(300))")
        #expect(answer.contains("Connection: close\r\n"))
        // The second of two in a row is not answered.
        #expect(answer.split(separator: "HTTP/1.1 ").count == 1)
    }

    @Test func `a head has a time`() throws {
        let connection = try #require(Connection(port))
        connection.send(Array("GET /metrics HT".utf8))
        let begun = MonotonicTime.now
        let answer = connection.readToEnd()
        #expect(answer.hasPrefix("HTTP/1.1 408") && answer.contains("within 1500 ms"), "\(answer)")
        #expect(MonotonicTime.now - begun < .seconds(10))
    }

    @Test func `a body without an end is cut`() throws {
        let connection = try #require(Connection(port))
        connection.send(Array("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".utf8))
        // Refused by an error in the end, whose time is what counts.
        let begun = MonotonicTime.now
        while MonotonicTime.now - begun < .seconds(10), connection.send(Array("1\r\na\r\n".utf8)) { usleep(1000) }
        #expect(MonotonicTime.now - begun < .seconds(5))
    }

    @Test func `connections are bounded and given back`() throws {
        var held = try (0..<12).map { _ in try #require(Connection(port)) }
        let refused = try #require(Connection(port)?.readToEnd())
        #expect(refused.hasPrefix("HTTP/1.1 503"), "\(refused)")
        #expect(refused.hasSuffix("12 connections are open, which is the limit\n"), "\(refused)")
        #expect(held.count == 12)
        held = []
        #expect(eventually { Connection(port)?.ask("GET /metrics HTTP/1.1\r\n\r\n").hasPrefix("HTTP/1.1 200") == true })
    }

    @Test func `subscribers are bounded and it says so`() throws {
        let subscription = "GET /stalls HTTP/1.1\r\n\r\n"
        let clients = try (0..<LiveLines.maximumClients).map { _ in try #require(Connection(port)) }
        for client in clients {
            client.send(Array(subscription.utf8))
            #expect(client.read { $0.hasSuffix("\r\n\r\n") }.hasPrefix("HTTP/1.1 200"))
        }
        let refused = try #require(Connection(port)?.ask(subscription))
        #expect(refused.hasPrefix("HTTP/1.1 503") && refused.contains("/stalls has 8 subscribers"), "\(refused)")
        #expect(refused.contains("Retry-After: 5\r\n"))
    }

    @Test func `a subscriber that reads nothing loses its place`() throws {
        let client = try #require(Connection(port, receiveBytes: 4096))
        client.send(Array("GET /stalls HTTP/1.1\r\n\r\n".utf8))
        _ = client.read { $0.hasSuffix("\r\n\r\n") }
        let line = [UInt8](repeating: UInt8(ascii: "a"), count: 99_999) + [UInt8(ascii: "\n")]
        let isCut = eventually {
            _ = line.withUnsafeBytes { try? live.write($0) }
            return live.clients == 0
        }
        #expect(isCut)
    }

    @Test func `an older client gets no chunks`() throws {
        let client = try #require(Connection(port))
        client.send(Array("GET /stalls HTTP/1.0\r\n\r\n".utf8))
        let head = client.read { $0.hasSuffix("\r\n\r\n") }
        #expect(head.hasPrefix("HTTP/1.0 200") && !head.contains("chunked"), "\(head)")
        _ = Array("{}\n".utf8).withUnsafeBytes { try? live.write($0) }
        live.close()
        #expect(client.readToEnd() == "{}\n")
    }
}

/// Processor time of this process, in seconds.
private enum ProcessTime {
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// A client that does what no library would.
private final class Connection {
    private let descriptor: Int32

    /// nil: it was refused.
    /// - Parameter receiveBytes: what its side of the kernel takes before it is read.
    init?(_ port: UInt16, receiveBytes: Int32? = nil) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var receiveBytes { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBytes, 4) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let isDone = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isDone else { return nil }
    }

    deinit { close(descriptor) }

    /// As much as is taken within a moment; whether the connection is there.
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

    func ask(_ request: String) -> String {
        send(Array(request.utf8))
        return readToEnd()
    }

    func readToEnd() -> String { read { _ in false } }

    func read(until isThere: (String) -> Bool) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        let deadline = MonotonicTime.now + .seconds(20)
        while MonotonicTime.now < deadline, !isThere(String(decoding: bytes, as: UTF8.self)) {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 100) > 0 else { continue }
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
