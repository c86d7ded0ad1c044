internal import Foundation
import Glibc
internal import LagMonitor
internal import LagOutput
internal import LagRemote
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// The limits on what clients can use of the HTTP service, which runs in this process with short times.
@Suite("HTTP limits", .serialized)
struct HttpLimitsTests {
    private struct Nothing: HttpStatusSource {
        func probeLiveness() -> LivenessProbe.Check { LivenessProbe.Check() }
        var statistics: StallMonitorStatistics { StallMonitorStatistics() }
        var lags: [StallCounts.LoopKey: UInt64] { [:] }
        var targets: [TargetStatus] { [] }
    }

    private let live = LiveLines(
        counts: StallCounts(places: []),
        context: ProcessContext(pid: 1, processName: "p", hostName: "h", bootID: String(repeating: "0", count: 32))
    )
    private let port: UInt16

    init() throws { port = try Self.start(live) }

    /// The default times are long, so that a client on a busy machine keeps its connection, except in tests of the time-outs.
    private static func start(_ live: LiveLines, head: Int64 = 60_000, close: Int64 = 30_000) throws -> UInt16 {
        var limits = HttpLimits()
        limits.connections = 12
        limits.heartbeatMilliseconds = 60_000
        limits.headMilliseconds = head
        limits.answerMilliseconds = 500
        limits.closeMilliseconds = close
        let service = HttpService(
            address: try #require(ListenAddress("0")),
            live: live,
            output: HealthTrackingSink(MemorySink()),
            limits: limits
        )
        return try #require(try service.start(Nothing())).port
    }

    @Test func `endless request heads do not delay other clients`() throws {
        // This blocked the service for minutes once: two clients, 2 MB each, no newline.
        let floods = try (0..<2).map { _ in try #require(LoopbackConnection(port)) }
        let flood = Array("GET /".utf8) + [UInt8](repeating: UInt8(ascii: "a"), count: 2_000_000)
        let before = ServiceTime.now
        for flooding in floods { flooding.send(flood) }
        let answer = try #require(LoopbackConnection(port)?.ask("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"))
        #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
        for flooding in floods {
            let refusal = flooding.read()
            #expect(refusal.hasPrefix("HTTP/1.1 431"), "\(refusal)")
        }
        let used = ServiceTime.seconds(since: before)
        #expect(used > 0 && used < 1, "\(used) seconds of a processor")
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
    ]) func `a request beyond the limits gets an error status and the connection closes`(request: String, status: String) throws {
        let answer = try #require(LoopbackConnection(port)?.ask(request))
        #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer.prefix(300))")
        #expect(answer.contains("Connection: close\r\n"))
        // The second of two consecutive requests is not answered.
        #expect(answer.split(separator: "HTTP/1.1 ").count == 1)
    }

    @Test func `a request head that is not complete in time gets status 408`() throws {
        let port = try Self.start(live, head: 1500)
        let connection = try #require(LoopbackConnection(port))
        connection.send("GET /metrics HT")
        let begun = MonotonicTime.now
        let answer = connection.read()
        #expect(answer.hasPrefix("HTTP/1.1 408") && answer.contains("within 1.5 s"), "\(answer)")
        #expect(MonotonicTime.now - begun < .seconds(10))
    }

    @Test func `an endless request body is cut off`() throws {
        let port = try Self.start(live, close: 300)
        let connection = try #require(LoopbackConnection(port))
        connection.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        // An error ends the sending; the test checks when.
        let begun = MonotonicTime.now
        while MonotonicTime.now - begun < .seconds(10), connection.send("1\r\na\r\n") { usleep(1000) }
        #expect(MonotonicTime.now - begun < .seconds(5))
    }

    @Test func `connections above the limit are refused and closed ones are available again`() throws {
        var held = try (0..<12).map { _ in try #require(LoopbackConnection(port)) }
        let refused = try #require(LoopbackConnection(port)?.read())
        #expect(refused.hasPrefix("HTTP/1.1 503"), "\(refused)")
        #expect(refused.hasSuffix("12 connections are open, which is the limit\n"), "\(refused)")
        #expect(held.count == 12)
        held = []
        #expect(eventually { LoopbackConnection(port)?.ask("GET /metrics HTTP/1.1\r\n\r\n").hasPrefix("HTTP/1.1 200") == true })
    }

    @Test func `a subscriber above the limit is refused with the reason`() throws {
        let subscription = "GET /stalls HTTP/1.1\r\n\r\n"
        let clients = try (0..<LiveLines.maximumClients).map { _ in try #require(LoopbackConnection(port)) }
        for client in clients {
            client.send(subscription)
            #expect(client.read { $0.hasSuffix("\r\n\r\n") }.hasPrefix("HTTP/1.1 200"))
        }
        let refused = try #require(LoopbackConnection(port)?.ask(subscription))
        #expect(refused.hasPrefix("HTTP/1.1 503") && refused.contains("/stalls has 8 subscribers"), "\(refused)")
        #expect(refused.contains("Retry-After: 5\r\n"))
    }

    @Test func `a subscriber that does not read is disconnected`() throws {
        let client = try #require(LoopbackConnection(port, receiveBytes: 4096))
        client.send("GET /stalls HTTP/1.1\r\n\r\n")
        _ = client.read { $0.hasSuffix("\r\n\r\n") }
        let line = [UInt8](repeating: UInt8(ascii: "a"), count: 99_999) + [UInt8(ascii: "\n")]
        let isCut = eventually {
            _ = line.withUnsafeBytes { try? live.write($0) }
            return live.clients == 0
        }
        #expect(isCut)
    }

    @Test func `a client with an older HTTP version gets no chunked encoding`() throws {
        let client = try #require(LoopbackConnection(port))
        client.send("GET /stalls HTTP/1.0\r\n\r\n")
        let head = client.read { $0.hasSuffix("\r\n\r\n") }
        #expect(head.hasPrefix("HTTP/1.0 200") && !head.contains("chunked"), "\(head)")
        _ = Array("{}\n".utf8).withUnsafeBytes { try? live.write($0) }
        live.close()
        #expect(client.read() == "{}\n")
    }
}

/// Processor time of the service's threads, in seconds, without that of concurrent tests.
private enum ServiceTime {
    /// Keyed by thread.
    static var now: [String: Double] {
        let folder = "/proc/self/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let times = threads.compactMap { thread -> (String, Double)? in
            guard text(of: "\(folder)/\(thread)/comm").hasPrefix("lag-http") else { return nil }
            let figures = text(of: "\(folder)/\(thread)/schedstat").split(separator: " ")
            return (thread, (figures.first.flatMap { Double($0) } ?? 0) / 1e9)
        }
        return Dictionary(uniqueKeysWithValues: times)
    }

    /// Threads of another test's service may have exited in the meantime.
    static func seconds(since before: [String: Double]) -> Double {
        now.reduce(0) { $0 + $1.value - (before[$1.key] ?? 0) }
    }
}
