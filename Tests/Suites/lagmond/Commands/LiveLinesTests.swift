internal import LagMonitor
import Synchronization
internal import TestSupport
internal import Testing

@testable internal import lagmond

struct LiveLinesTests {
    private static let context = ProcessContext(
        pid: 1,
        processName: "p",
        hostName: "h",
        bootID: String(repeating: "0", count: 32)
    )

    private func makeLines() -> LiveLines { LiveLines(counts: StallCounts(places: []), context: Self.context) }

    private func write(_ bytes: [UInt8], to lines: LiveLines) throws { try bytes.withUnsafeBytes { try lines.write($0) } }

    @Test func `a slow client loses lines and gets a dropped notice`() throws {
        let lines = makeLines()
        let client = try #require(lines.join {})
        let line = [UInt8](repeating: UInt8(ascii: "a"), count: 99_999) + [UInt8(ascii: "\n")]
        for _ in 0..<15 { try write(line, to: lines) }
        #expect(text(client.next())?.utf8.count == 10 * line.count)
        try write(Array("{}\n".utf8), to: lines)
        let second = try #require(text(client.next()))
        #expect(second.contains(#""event":"dropped","dropped":5,"reason":"sink_slow""#), "\(second)")
        #expect(second.hasSuffix("}\n{}\n"))
    }

    @Test func `a client gets the last lines before the end`() throws {
        let lines = makeLines()
        let client = try #require(lines.join {})
        try write(Array("{}\n".utf8), to: lines)
        lines.close()
        #expect(text(client.next()) == "{}\n")
        #expect(client.next() == .end)
        #expect(lines.join {} == nil)
    }

    @Test func `a client is woken once each time it had run out of lines`() throws {
        let lines = makeLines()
        let wakes = Atomic<Int>(0)
        try withExtendedLifetime(
            try #require(lines.join { wakes.add(1, ordering: .relaxed) })
        ) { client in
            try write(Array("1\n".utf8), to: lines)
            #expect(wakes.load(ordering: .relaxed) == 0)
            #expect(text(client.next()) == "1\n" && client.next() == .nothing)
            for _ in 0..<3 { try write(Array("2\n".utf8), to: lines) }
            #expect(wakes.load(ordering: .relaxed) == 1)
            #expect(text(client.next()) == "2\n2\n2\n" && client.next() == .nothing)
            lines.close()
            #expect(wakes.load(ordering: .relaxed) == 2)
        }
    }

    @Test func `no line is kept for a cancelled client`() throws {
        let lines = makeLines()
        let client = try #require(lines.join {})
        client.cancel()
        try write(Array("{}\n".utf8), to: lines)
        #expect(client.next() == .end)
    }

    @Test func `a client that leaves makes room for another one`() throws {
        let lines = makeLines()
        var clients = (0..<LiveLines.maximumClients).map { _ in lines.join {} }
        #expect(lines.join {} == nil)
        clients.removeLast()
        #expect(lines.clients == LiveLines.maximumClients - 1)
        #expect(lines.join {} != nil)
    }

    @Test func `waiting clients get an empty line from time to time`() throws {
        let lines = makeLines()
        let client = try #require(lines.join {})
        lines.sendHeartbeats()
        #expect(client.next() == .nothing)
        lines.sendHeartbeats()
        #expect(client.next() == .lines([UInt8(ascii: "\n")]) && client.next() == .nothing)
    }

    private func text(_ next: LiveClient.Next) -> String? {
        if case .lines(let bytes) = next { String(decoding: bytes, as: UTF8.self) } else { nil }
    }

    @Test func `labels are escaped and seconds are exact`() {
        #expect(MetricsPage.escaped("a\\b\"c\nd") == #"a\\b\"c\nd"#)
        #expect(MetricsPage.seconds(0) == "0")
        #expect(MetricsPage.seconds(1_500_000_000) == "1.5")
        #expect(MetricsPage.seconds(1) == "0.000000001")
    }

    @Test func `a duration equal to the bound of a bucket belongs to it`() {
        var durations = StallCounts.Durations()
        durations.add(250_000_000)
        durations.add(250_000_001)
        durations.add(61_000_000_000)
        #expect(durations.buckets == [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1])
        #expect(durations.count == 3)
    }

    @Test(arguments: [
        ("9464", "127.0.0.1:9464"), ("localhost:1", "127.0.0.1:1"), ("0.0.0.0:80", "0.0.0.0:80"), ("[::1]:9464", "[::1]:9464"),
    ]) func `listen addresses are parsed`(text: String, expected: String) {
        #expect(ListenAddress(text)?.description == expected)
    }

    @Test(arguments: ["9464", "\"9464\"", "\"127.0.0.1:9464\""]) func `a file gives the listen address as text or number`(
        value: String
    ) throws {
        try ScratchDirectory.with { directory in
            try directory.write("{\"http\": {\"listen\": \(value)}}", to: "config.json")
            let settings = try Settings.load(commandLine: ["config": .string(directory.file("config.json"))], environment: [:])
            #expect(settings.listen == ListenAddress("127.0.0.1:9464"))
        }
    }
}
