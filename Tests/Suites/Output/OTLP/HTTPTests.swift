import Foundation
import Glibc
import LagActivity
import LagOutput
import Synchronization
import TestSupport
import Testing

@testable import LagMonitorOTLP

/// A test server on the loopback interface that answers each request on its own connection.
private final class Server: Sendable {
    struct Request {
        var head = ""
        var body = ""
    }

    let port: Int
    private let descriptor: Int32
    private let requests = Mutex<[Request]>([])
    private let answers: Mutex<[String]>
    private let gate: DispatchSemaphore?

    /// - Parameters:
    ///   - answers: status lines with headers, one per request; then 200.
    ///   - gate: awaited before each answer.
    init(_ answers: [String], gate: DispatchSemaphore? = nil) throws {
        self.answers = Mutex(answers)
        self.gate = gate
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        try #require(bound == 0 && listen(descriptor, 8) == 0)
        _ = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        self.descriptor = descriptor
        port = Int(in_port_t(bigEndian: name.sin_port))
        Thread.detachNewThread { [self] in serve() }
    }

    var taken: [Request] { requests.withLock { $0 } }

    func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    private func serve() {
        while true {
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else {
                close(descriptor)
                return
            }
            guard let request = read(connection) else {
                close(connection)
                continue
            }
            requests.withLock { $0.append(request) }
            gate?.wait()
            let answer = answers.withLock { $0.isEmpty ? "200 OK" : $0.removeFirst() }
            let text = "HTTP/1.1 \(answer)\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
            _ = text.withCString { send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
            close(connection)
        }
    }

    private func read(_ connection: Int32) -> Request? {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let all = String(decoding: text, as: UTF8.self)
            if let end = all.range(of: "\r\n\r\n") {
                let head = String(all[..<end.lowerBound])
                let length = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                let count = length.flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
                let body = String(all[end.upperBound...])
                if body.utf8.count >= count { return Request(head: head, body: body) }
            }
            let count = Glibc.read(connection, &buffer, buffer.count)
            guard count > 0 else { return nil }
            text += buffer.prefix(count)
        }
    }
}

@Suite(.serialized) struct HTTPTests {
    private let text = #"{"resourceLogs":[{"é":1}]}"#

    private func put(_ sink: OTLPSink) throws {
        try Array((text + "\n").utf8).withUnsafeBytes { try sink.write($0) }
    }

    private var rule: OTLPRetryRule {
        var rule = OTLPRetryRule()
        rule.firstDelay = .milliseconds(10)
        return rule
    }

    /// For a program that watches the threads of Dispatch.
    @Test func `a thread that waits for the receiver is expected to block`() throws {
        let gate = DispatchSemaphore(value: 0)
        let server = try Server([], gate: gate)
        defer { server.stop() }
        let sink = try OTLPSink(endpoint: "http://127.0.0.1:\(server.port)", rule: rule)
        try put(sink)
        #expect(eventually { server.taken.count == 1 })
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
        #expect(threads.contains { Int32($0).map(ExpectedBlocks.contains) ?? false })
        gate.signal()
        sink.close()
    }

    @Test func `a request follows the OTLP specification`() throws {
        let server = try Server([])
        defer { server.stop() }
        let sink = try OTLPSink(endpoint: "http://127.0.0.1:\(server.port)", headers: ["Authorization": "Bearer t"], rule: rule)
        try put(sink)
        #expect(eventually { server.taken.count == 1 })
        let request = try #require(server.taken.first)
        #expect(request.head.hasPrefix("POST /v1/logs HTTP/1.1\r\n"))
        let head = request.head.lowercased()
        #expect(head.contains("content-type: application/json") && head.contains("authorization: bearer t"))
        #expect(request.body == text)
        sink.close()
        #expect(sink.takeAbandonedLines() == 0)
    }

    @Test func `a request to an overloaded server is retried`() throws {
        let server = try Server(["503 Service Unavailable\r\nRetry-After: 0", "429 Too Many Requests"])
        defer { server.stop() }
        let sink = try OTLPSink(endpoint: "http://127.0.0.1:\(server.port)", rule: rule)
        try put(sink)
        #expect(eventually { server.taken.count == 3 })
        #expect(server.taken.allSatisfy { $0.body == text })
        sink.close()
        #expect(sink.takeAbandonedLines() == 0)
    }

    @Test func `a request that the server refuses costs the line`() throws {
        let server = try Server(["400 Bad Request"])
        defer { server.stop() }
        let sink = try OTLPSink(endpoint: "http://127.0.0.1:\(server.port)", rule: rule)
        try put(sink)
        #expect(eventually { sink.takeAbandonedLines() == 1 })
        #expect(server.taken.count == 1)
        sink.close()
    }

    @Test func `without a receiver the line is lost after all attempts`() throws {
        let server = try Server([])
        server.stop()
        var rule = rule
        rule.attempts = 2
        let sink = try OTLPSink(endpoint: "http://127.0.0.1:\(server.port)", timeout: .seconds(2), rule: rule)
        try put(sink)
        #expect(eventually { sink.takeAbandonedLines() == 1 })
        sink.close()
    }
}
