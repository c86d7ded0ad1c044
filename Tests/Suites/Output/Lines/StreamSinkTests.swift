import Foundation
import Glibc
import LagActivity
import Synchronization
import TestSupport
import Testing

@testable import LagMonitorDelivery
@testable import LagOutput

private func line(_ letter: Character, _ count: Int) -> String { String(repeating: letter, count: count - 1) + "\n" }

struct StreamSinkTests {
    private let scratch: ScratchDirectory
    private var path: String { scratch.path + "/s" }
    /// Retries immediately.
    private let impatient = RetryDelay(firstNanoseconds: 0, longestNanoseconds: 0)

    init() throws { scratch = try ScratchDirectory() }

    private func sink(_ address: StreamAddress, timeout: Duration = .milliseconds(50)) throws -> StreamSink {
        try StreamSink(address, timeout: timeout, delay: impatient)
    }

    private func listener(_ kind: String) throws -> Listener {
        kind == "unix" ? try Listener(unix: path) : try Listener()
    }

    @Test func `a Unix reader that has shut down its sending side is still connected`() throws {
        let listener = try listener("unix")
        let sink = try sink(listener.address)
        try sink.put("a\n")
        let connection = try listener.accept()
        connection.endSending()
        try sink.put("b\n")
        #expect(connection.readLine() == "a\n" && connection.readLine() == "b\n")
        #expect(!listener.hasConnection)
    }

    /// The first address neither accepts nor refuses a connection, like a host whose packets are dropped.
    @Test func `an address that does not answer leaves time for the next one`() throws {
        let full = try Listener(backlog: 0)
        let good = try Listener()
        let descriptors = connections(to: full)
        defer { for descriptor in descriptors { close(descriptor) } }
        let sink = StreamSink(name: "tcp:two", .addresses([full.socketName, good.socketName]), timeout: .seconds(1))
        try sink.put("a\n")
        #expect(try good.accept().readLine() == "a\n")
    }

    /// The second line is not tried: it is lost for the same reason.
    @Test func `a host that does not answer is not a slow reader`() throws {
        let full = try Listener(backlog: 0)
        let descriptors = connections(to: full)
        defer { for descriptor in descriptors { close(descriptor) } }
        let sink = try StreamSink(full.address, timeout: .milliseconds(100))
        for _ in 0..<2 {
            let error = #expect(throws: SinkError.self) { try sink.put("lost\n") }
            #expect(error?.reason == .tooSlow)
            #expect(error?.description == "cannot write to \(sink.name): no connection within the time-out")
        }
    }

    /// As many as fill its queue.
    private func connections(to listener: Listener) -> [Int32] {
        (0..<8).map { _ in
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let descriptor = socket(AF_INET, type, 0)
            _ = listener.socketName.connect(descriptor)
            return descriptor
        }
    }

    @Test(arguments: ["unix", "tcp"]) func `lines arrive on one connection`(kind: String) throws {
        let listener = try listener(kind)
        let sink = try sink(listener.address)
        #expect(!listener.hasConnection, "the first line connects")
        try sink.put("a\n")
        try sink.put("b\n")
        let connection = try listener.accept()
        #expect(connection.readLine() == "a\n" && connection.readLine() == "b\n")
        #expect(!listener.hasConnection)
        sink.close()
        #expect(connection.read() == "")
        #expect(throws: SinkError(.closed, path: sink.name)) { try sink.put("c\n") }
        try sink.resume()
        try sink.put("d\n")
        #expect(try listener.accept().readLine() == "d\n")
    }

    @Test(arguments: ["unix", "tcp"]) func `a closed connection is detected and the next connection gets the line`(kind: String)
        throws
    {
        let listener = try listener(kind)
        let sink = try sink(listener.address)
        try sink.put("a\n")
        var connection: Connection? = try listener.accept()
        #expect(connection?.readLine() == "a\n")
        connection = nil
        // The first line after that is sent, so nothing is lost.
        try sink.put("b\n")
        #expect(try listener.accept().readLine() == "b\n")
        #expect(sink.takeAbandonedLines() == 0)
    }

    @Test func `a missing reader costs the line and can connect later`() throws {
        let sink = try sink(.unix(path: path))
        let error = #expect(throws: SinkError.self) { try sink.put("a\n") }
        #expect(error?.reason == .readerGone && error?.code == ENOENT)
        #expect(error?.description.hasSuffix("no connection: No such file or directory (errno 2)") == true)
        let listener = try Listener(unix: path)
        try sink.put("b\n")
        #expect(try listener.accept().readLine() == "b\n")
    }

    @Test func `no connection is tried during the retry delay`() throws {
        let delay = RetryDelay(firstNanoseconds: 3_600_000_000_000, longestNanoseconds: 3_600_000_000_000)
        let sink = try StreamSink(.unix(path: path), timeout: .seconds(1), delay: delay)
        let error = #expect(throws: SinkError.self) { try sink.put("a\n") }
        let listener = try Listener(unix: path)
        #expect(throws: try #require(error)) { try sink.put("b\n") }
        #expect(!listener.hasConnection)
        // Reopening is requested.
        try sink.reopen()
        try sink.put("c\n")
        #expect(try listener.accept().readLine() == "c\n")
    }

    /// Part of a line followed by the next line would be one damaged line, without notice.
    @Test(arguments: ["unix", "tcp"]) func `a partly sent line is finished first`(kind: String) async throws {
        let listener = try listener(kind)
        let sink = try sink(listener.address)
        // More than the kernel's buffers hold; the reader does not read.
        let long = line("a", 16 << 20)
        try sink.put(long)
        let connection = try listener.accept()
        #expect(throws: SinkError(.tooSlow, path: sink.name)) { try sink.put("lost\n") }
        let reader = Task.detached { connection.read(quiet: 2000) }
        var isTaken = false
        for _ in 0..<200 where !isTaken {
            do throws(SinkError) {
                try sink.put("b\n")
                isTaken = true
            } catch { #expect(error.reason == .tooSlow) }
        }
        sink.close()
        let text = await reader.value
        #expect(text == long + "b\n")
        #expect(sink.takeAbandonedLines() == 0)
    }

    @Test(arguments: ["unix", "tcp"]) func `a line whose reader disconnected halfway is counted and the next one is complete`(
        kind: String
    )
        throws
    {
        let listener = try listener(kind)
        let sink = try sink(listener.address)
        try sink.put(line("a", 16 << 20))
        var connection: Connection? = try listener.accept()
        #expect(connection != nil)
        connection = nil
        try sink.put("b\n")
        #expect(sink.takeAbandonedLines() == 1)
        #expect(try listener.accept().readLine() == "b\n")
    }

    @Test func `the shutdown deadline ends a wait`() throws {
        let listener = try listener("unix")
        let sink = try sink(listener.address, timeout: .seconds(3600))
        sink.limitWaiting(until: MonotonicTime(nanoseconds: 0))
        try sink.put(line("a", 16 << 20))
        #expect(throws: SinkError(.tooSlow, path: sink.name)) { try sink.put("b\n") }
        sink.close()
        #expect(sink.takeAbandonedLines() == 1)
    }

    /// Data from a reader cannot fill up the socket, and does not end the connection.
    @Test func `data from the reader is discarded`() throws {
        let listener = try listener("unix")
        let sink = try sink(listener.address)
        try sink.put("a\n")
        let accepted = try listener.accept()
        #expect(accepted.readLine() == "a\n")
        accepted.send(line("x", 100_000))
        for _ in 0..<3 { try sink.put("b\n") }
        #expect(accepted.readLine() == "b\n")
        #expect(!listener.hasConnection)
        accepted.send(line("x", 100_000))
    }

    @Test(arguments: [
        (StreamAddress.tcp(host: "127.0.0.1", port: 0), EINVAL), (.tcp(host: "127.0.0.1", port: 65_536), EINVAL),
        (.tcp(host: "", port: 1), EINVAL), (.unix(path: ""), EINVAL),
        (.unix(path: String(repeating: "p", count: 108)), ENAMETOOLONG),
    ])
    func `an invalid address is refused`(address: StreamAddress, code: Int32) {
        #expect(throws: SinkError(.cannotOpen, path: "\(address)", code: code)) { try StreamSink(address) }
    }

    @Test(arguments: ["a b", "::zz", "1.2.3.400", "a..b"]) func `a host that is neither a name nor an address is refused`(
        host: String
    ) {
        let error = #expect(throws: SinkError.self) { try StreamSink(.tcp(host: host, port: 1)) }
        #expect(error?.code == EINVAL && error?.description.contains("neither a host name") == true)
    }

    /// The host is not looked up before the first line.
    @Test func `an unknown host is not an error before the first line`() throws {
        #expect(try StreamSink(.tcp(host: "nowhere.invalid", port: 9)).name == "tcp:nowhere.invalid:9")
    }

    @Test func `a host is looked up for each connection`() throws {
        let listeners = [try Listener(), try Listener()]
        let answers = Mutex([[], [listeners[0].socketName], [listeners[1].socketName]])
        let lookup = HostLookup { answers.withLock { $0.removeFirst() } }
        let sink = StreamSink(name: "tcp:moves", .host(lookup), timeout: .seconds(10), delay: impatient)
        let error = #expect(throws: SinkError.self) { try sink.put("a\n") }
        #expect(error?.reason == .readerGone && error?.description.contains("its host") == true)
        for (listener, line) in zip(listeners, ["b\n", "c\n"]) {
            try sink.put(line)
            #expect(try listener.accept().readLine() == line)
            try sink.reopen()
        }
    }

    @Test func `a slow lookup costs the time-out and its late answer is used`() throws {
        let listener = try Listener()
        let name = listener.socketName
        let gate = DispatchSemaphore(value: 0)
        let questions = Mutex(0)
        let lookup = HostLookup {
            questions.withLock { $0 += 1 }
            gate.wait()
            return [name]
        }
        let sink = StreamSink(name: "tcp:slow", .host(lookup), timeout: .milliseconds(200), delay: impatient)
        let failure = SinkError(.tooSlow, path: sink.name, detail: "no connection within the time-out")
        for _ in 0..<2 { #expect(throws: failure) { try sink.put("lost\n") } }
        gate.signal()
        var isTaken = false
        for _ in 0..<200 where !isTaken { isTaken = (try? sink.put("a\n")) != nil }
        #expect(try listener.accept().readLine() == "a\n")
        #expect(questions.withLock { $0 } == 1)
    }

    @Test func `addresses are written as in the settings`() {
        #expect("\(StreamAddress.tcp(host: "::1", port: 9))" == "tcp:[::1]:9")
        #expect("\(StreamAddress.tcp(host: "localhost", port: 9))" == "tcp:localhost:9")
        #expect("\(StreamAddress.unix(path: "/a"))" == "unix:/a")
    }
}

struct RetryDelayTests {
    @Test func `the retry delay doubles up to the maximum and can be reset`() {
        var delay = RetryDelay(firstNanoseconds: 100, longestNanoseconds: 350)
        #expect(delay.allows(at: 0))
        var next: [UInt64] = []
        for _ in 0..<4 {
            delay.recordFailure(at: 1000)
            next.append(delay.nextNanoseconds)
        }
        #expect(next == [1100, 1200, 1350, 1350])
        #expect(!delay.allows(at: 1349) && delay.allows(at: 1350))
        delay.reset()
        #expect(delay.allows(at: 0))
        delay.recordFailure(at: .max)
        #expect(delay.nextNanoseconds == .max)
    }
}
