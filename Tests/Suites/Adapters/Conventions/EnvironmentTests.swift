import Foundation
import Testing

@testable import LagMonitor

/// A program that calls `startFromEnvironment()`, in different environments.
@Suite struct EnvironmentTests {
    private struct Outcome {
        let out: String
        let err: String
        let status: Int32
    }

    private func run(_ variables: [String: String]) throws -> Outcome {
        let process = Process()
        let bin = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        process.executableURL = bin.appendingPathComponent("MonitorProbe")
        process.arguments = ["from-environment"]
        let foreign = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LAGMONITOR_") }
        process.environment = foreign.merging(variables) { $1 }
        let (out, err) = (Pipe(), Pipe())
        process.standardOutput = out
        process.standardError = err
        try process.run()
        // Both fit into a pipe: reading one after the other is safe.
        let texts = [out, err].map { String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
        process.waitUntilExit()
        #expect(process.terminationReason == .exit)
        return Outcome(out: texts[0], err: texts[1], status: process.terminationStatus)
    }

    @Test func `without environment variables no monitor is started`() throws {
        let outcome = try run([:])
        #expect(outcome.out.isEmpty && outcome.err == "the host is done\n" && outcome.status == 0)
        let empty = try run(["LAGMONITOR_OUTPUT_PATH": ""])
        #expect(empty.out.isEmpty && empty.err == "the host is done\n" && empty.status == 0)
    }

    @Test func `an output path starts the monitor`() throws {
        let outcome = try run(["LAGMONITOR_OUTPUT_PATH": "-", "LAGMONITOR_SERVICE_NAME": "probe"])
        #expect(outcome.err == "the host is done\n" && outcome.status == 0)
        let lines = outcome.out.split(separator: "\n")
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(line.contains(#""phase":"end""#) && line.contains(#""loop":"main""#) && line.contains("usleep"), "\(line)")
        #expect(line.contains(#""service_name":"probe""#))
    }

    @Test func `the settings are the same as for lagmond`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("lag-\(UUID().uuidString).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let quiet = ["LAGMONITOR_MONITOR_INTERVAL_MS": "500", "LAGMONITOR_MONITOR_RULES": "callout"]
        _ = try run(quiet.merging(["LAGMONITOR_OUTPUT_PATH": path]) { $1 })
        #expect(try String(contentsOfFile: path, encoding: .utf8).isEmpty)
        _ = try run(["LAGMONITOR_OUTPUT_PATH": path, "LAGMONITOR_MONITOR_HANG_AFTER_MS": "0"])
        #expect(try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").count == 2)
    }

    @Test func `invalid settings are reported, and the host continues`() throws {
        let outcome = try run([
            "LAGMONITOR_OUTPUT_PATH": "-", "LAGMONITOR_MONITOR_INTERVAL_MS": "fast", "LAGMONITOR_MONITOR_INTERVAL": "5",
        ])
        #expect(outcome.out.isEmpty && outcome.status == 0)
        let lines = outcome.err.split(separator: "\n")
        #expect(lines.count == 3 && lines.last == "the host is done")
        #expect(lines[0].hasPrefix("lagmonitor: environment variable LAGMONITOR_MONITOR_INTERVAL: unknown name; allowed: "))
        let wrong = "LAGMONITOR_MONITOR_INTERVAL_MS: \"fast\" is not a whole number; allowed: a whole number from 1 to 60000"
        #expect(lines[1] == "lagmonitor: environment variable \(wrong); no monitor is started")
    }

    @Test func `an output that cannot be opened is reported`() throws {
        let outcome = try run(["LAGMONITOR_OUTPUT_PATH": "/nonexistent/stalls.jsonl"])
        #expect(outcome.err.contains("cannot start: ") && outcome.err.contains("/nonexistent/stalls.jsonl"))
        #expect(outcome.err.hasSuffix("the host is done\n") && outcome.status == 0)
    }

    @Test func `settings without an output path are reported`() throws {
        let outcome = try run(["LAGMONITOR_MONITOR_INTERVAL_MS": "20"])
        let reported = "LAGMONITOR_MONITOR_INTERVAL_MS is set, but LAGMONITOR_OUTPUT_PATH is not: no monitor is started"
        #expect(outcome.err == "lagmonitor: \(reported)\nthe host is done\n")
    }

    @Test func `a loop that does not support the rules is reported`() {
        var reported: [String] = []
        let activation = EnvironmentActivation()
        let queue = PingedQueue(DispatchQueue(label: "work"))
        let variables = ["LAGMONITOR_OUTPUT_PATH": "/dev/null"]
        #expect(activation.start(variables, [queue]) { reported.append($0) } == nil)
        #expect(reported.count == 1 && reported[0].contains("'work' publishes no activities"), "\(reported)")
        let pinging = variables.merging(["LAGMONITOR_MONITOR_RULES": "ping"]) { $1 }
        let monitor = activation.start(pinging, [queue]) { reported.append($0) }
        #expect(monitor?.isRunning == true && monitor === activation.start(pinging, []) { reported.append($0) })
        monitor?.stop()
        #expect(reported.count == 1)
    }
}
