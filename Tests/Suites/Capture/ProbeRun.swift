import Foundation
import Testing

/// One run of the probe program and its output, one fact per line.
struct ProbeRun {
    let status: Int32
    let lines: [String]

    /// The longest time that a scenario may take; they take about a second.
    private static let limit: TimeInterval = 60

    init(_ scenario: String) throws {
        let directory = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let process = Process()
        process.executableURL = directory.appendingPathComponent("MonitorProbe")
        process.arguments = ["capture", scenario]
        process.currentDirectoryURL = FileManager.default.temporaryDirectory
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let guardian = DispatchWorkItem { [pid = process.processIdentifier] in kill(pid, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.limit, execute: guardian)
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guardian.cancel()
        status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
        lines = String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    subscript(key: String) -> String? {
        lines.first { $0.hasPrefix(key + "=") }.map { String($0.dropFirst(key.count + 1)) }
    }

    /// Leaf first.
    var frames: [String] { lines.filter { $0.hasPrefix("frame=") }.map { String($0.dropFirst(6)) } }

    /// The index of the first frame whose name contains `part`.
    func index(of part: String) -> Int? { frames.firstIndex { $0.contains(part) } }

    /// The stall record that the scenario's monitor wrote.
    var record: [String: Any] {
        get throws {
            let line = try #require(self["record"])
            return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }
}
