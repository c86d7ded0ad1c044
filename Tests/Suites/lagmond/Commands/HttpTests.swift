internal import Foundation
import Glibc
internal import LagMonitor
internal import TestSupport
internal import Testing

/// Tests the built binary over loopback sockets.
struct HttpTests {
    /// A run with `--listen`; its port is read from stderr.
    private static func withService(
        _ arguments: [String] = [],
        config: String = "{}",
        port: String = "0",
        _ body: (LagmondProcess, UInt16) throws -> Void
    ) throws {
        try ScratchDirectory.with { directory in
            try directory.write(config, to: "config.json")
            let lagmond = try LagmondProcess(
                ["run", "--config", "config.json", "--listen", port] + (arguments.isEmpty ? ["--output", "stalls"] : arguments),
                in: directory
            )
            let found = eventually { lagmond.errors.contains("listening on http://") }
            try #require(found, "\(lagmond.errors)")
            let line = try #require(lagmond.errors.split(separator: "\n").first { $0.contains("listening on") })
            try body(lagmond, try #require(UInt16(line.split(separator: ":").last ?? "")))
        }
    }

    private static let stalls = """
        {"monitor": {"symbols": "names", "hang_after_ms": 300},
         "workload": {"steps": [{"kind": "sleep", "for_ms": 300, "every_ms": 400, "count": 3}]}}
        """
    private static let hang = """
        {"monitor": {"hang_after_ms": 300}, "workload": {"steps": [{"kind": "hang", "start_ms": 5000}]}}
        """

    @Test func `the metrics agree with the written lines`() throws {
        try Self.withService(config: Self.stalls) { lagmond, port in
            let count = #"lagmonitor_loop_stall_duration_seconds_count{loop="main",cause="syscall"}"#
            let done = eventually { Self.get("/metrics", port)?.body.contains("\(count) 3\n") == true }
            let answer = try #require(Self.get("/metrics", port))
            #expect(done, "\(answer.body.split(separator: "\n").filter { $0.contains("_count") })")
            #expect(answer.status == 200)
            #expect(answer.head.contains("text/plain; version=0.0.4"))
            let lines = withoutRunqueue(lagmond.directory.read("stalls").split(separator: "\n")).filter {
                $0.contains(#""phase":"end""#)
            }
            #expect(lines.count == 3)
            let seconds = lines.compactMap(Self.milliseconds).reduce(0, +) / 1000
            let sum = try #require(Self.value(#"lagmonitor_stalled_seconds_total{loop="main",cause="syscall"}"#, answer.body))
            // A line rounds to whole microseconds.
            #expect(abs(sum - seconds) < 0.001)
            let buckets = ["0.25", "0.5", "1"].map {
                Self.value(
                    #"lagmonitor_loop_stall_duration_seconds_bucket{loop="main",cause="syscall",le="\#($0)"}"#,
                    answer.body
                )
            }
            #expect(buckets.first == 0)
            #expect(Self.value(#"lagmonitor_records_dropped_total{reason="not_written"}"#, answer.body) == 0)
            #expect(!answer.body.contains("fingerprint"))
        }
    }

    @Test func `a hang of the main thread is reported by metrics, health and stream`() throws {
        try Self.withService(config: Self.hang) { lagmond, port in
            let stream = try #require(LoopbackConnection(port))
            stream.send("GET /stalls HTTP/1.1\r\nHost: a\r\n\r\n")
            // The client gets no lines that were written before it connected.
            let head = stream.read { $0.contains("\r\n\r\n") }
            #expect(head.lowercased().contains("transfer-encoding: chunked"))
            let inProgress = #"lagmonitor_stall_in_progress{loop="main"} 1"#
            #expect(eventually { Self.get("/metrics", port)?.body.contains(inProgress) == true })
            let health = try #require(Self.get("/healthz", port))
            // A hang of the watched loop is not a failure of the monitor.
            #expect(health.status == 200)
            #expect(health.body.contains(#""stalled_loops":["main"]"#), "\(health.body)")
            let page = Self.get("/metrics", port)?.body ?? ""
            #expect(try #require(Self.value(#"lagmonitor_loop_lag_seconds{loop="main"}"#, page)) > 0.1)
            let live = stream.read { $0.contains(#""phase":"begin""#) }
            #expect(live.contains(#""phase":"begin""#), "\(live)")
            // The run ends in order although the main thread hangs, and every client gets the last line.
            kill(lagmond.pid, SIGTERM)
            #expect(lagmond.wait() == 0)
            #expect(lagmond.directory.read("stalls").contains(#""phase":"abandoned""#))
            let rest = stream.read { $0.hasSuffix("0\r\n\r\n") }
            #expect(rest.contains(#""phase":"abandoned""#), "\(rest)")
            #expect(rest.hasSuffix("\r\n0\r\n\r\n"))
        }
    }

    @Test func `HTTP methods and paths that are not served are refused`() throws {
        try Self.withService { _, port in
            for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
                let answer = try #require(Self.get("/metrics", port, method: method))
                #expect(answer.status == 405)
                #expect(answer.head.contains("Allow: GET, HEAD"))
            }
            #expect(Self.get("/", port)?.status == 404)
            #expect(Self.get("/metrics/x", port)?.status == 404)
            #expect(Self.get("/metrics?a=b", port)?.status == 200)
            let head = try #require(Self.get("/metrics", port, method: "HEAD"))
            #expect(head.status == 200)
            #expect(head.body == "")
        }
    }

    @Test func `a request that is not HTTP closes only its own connection`() throws {
        try Self.withService { _, port in
            let length = "GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n"
            for bytes in ["\r\n\r\n", "GET\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", length] {
                let connection = try #require(LoopbackConnection(port))
                connection.send(bytes)
                connection.sendNoMore()
                _ = connection.read()
            }
            #expect(Self.get("/healthz", port)?.status == 200)
        }
    }

    @Test func `an output that fails is a health failure`() throws {
        // This device is always full.
        try Self.withService(["--output", "/dev/full"], config: Self.stalls) { _, port in
            #expect(eventually { Self.get("/healthz", port)?.status == 503 })
            let answer = try #require(Self.get("/healthz", port))
            #expect(answer.body.contains("cannot write to /dev/full: No space left on device"), "\(answer.body)")
            let dropped = #"lagmonitor_records_dropped_total{reason="not_written"}"#
            #expect(eventually { (Self.value(dropped, Self.get("/metrics", port)?.body ?? "") ?? 0) > 0 })
        }
    }

    @Test func `clients of the stream are limited and a disconnected client frees its slot`() throws {
        try Self.withService(config: Self.stalls.replacing(#""count": 3"#, with: #""count": 60"#)) { _, port in
            var clients = try (0..<8).map { _ in try #require(LoopbackConnection(port)) }
            for client in clients {
                client.send("GET /stalls HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(client.read { $0.contains("\r\n\r\n") }.contains("200 OK"))
            }
            #expect(Self.get("/stalls", port)?.status == 503)
            clients = []
            // The next line, or the empty one that is sent every few seconds, cannot be delivered.
            let isFree = eventually { (Self.get("/stalls", port)?.status ?? 503) == 200 }
            #expect(isFree)
        }
    }

    @Test func `a port that is already in use is named in the error`() throws {
        try Self.withService { _, port in
            let (status, _, errors) = try LagmondProcess.run(["run", "--listen", "127.0.0.1:\(port)", "--duration", "1"])
            #expect(status == 71)
            #expect(errors.contains("http.listen: cannot listen on 127.0.0.1:\(port): Address already in use"), "\(errors)")
        }
    }

    @Test(arguments: ["70000", "host:80", "127.0.0.1", "127.0.0.1:", ":80", "::1:80", "http://127.0.0.1:80"])
    func `an invalid listen address is refused`(text: String) throws {
        let (status, _, errors) = try LagmondProcess.run(["run", "--listen", text, "--duration", "1"])
        #expect(status == 78)
        #expect(errors.contains("option --listen: \"\(text)\" is not an address to listen on; allowed: a port"), "\(errors)")
    }

    @Test func `lagmond does not listen without the setting`() throws {
        let (status, _, errors) = try LagmondProcess.run(["run", "--duration", "0.2", "--output", "a"])
        #expect(status == 0)
        #expect(!errors.contains("listening"))
    }

    // MARK: A client independent of the server's code

    private struct Answer {
        let status: Int
        let head: String
        let body: String
    }

    private static func get(_ path: String, _ port: UInt16, method: String = "GET") -> Answer? {
        let text = LoopbackConnection.get(path, port, method: method) { path == "/stalls" && $0.contains("\r\n\r\n") }
        guard let text, let end = text.range(of: "\r\n\r\n"), let status = Int(text.split(separator: " ").dropFirst().first ?? "")
        else {
            return nil
        }
        return Answer(status: status, head: String(text[..<end.lowerBound]), body: String(text[end.upperBound...]))
    }

    private static func value(_ series: String, _ page: String) -> Double? {
        page.split(separator: "\n").first { $0.hasPrefix(series + " ") }.flatMap { Double($0.dropFirst(series.count + 1)) }
    }

    private static func milliseconds(_ line: Substring) -> Double? {
        line.range(of: #""duration_ms":"#).flatMap { Double(line[$0.upperBound...].prefix { $0 != "," }) }
    }
}
