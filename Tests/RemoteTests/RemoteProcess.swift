import Foundation
import LagDetection
import Testing

@testable import LagMonitor

/// A program with the preloaded library, its loops watched from here.
final class RemoteProcess {
    let sink = MemorySink()
    let watch: PageWatch
    private let process = Process()

    private static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    init(_ argument: String) throws {
        let page = try SharedPage()
        var configuration = LagMonitorConfiguration()
        configuration.rules = StallRules()
        configuration.limits = .none
        watch = PageWatch(page: page, configuration: configuration, sink: sink) { Issue.record("\($0)") }
        try watch.start()
        process.executableURL = Self.folder.appendingPathComponent("RemoteProbe")
        process.arguments = [argument]
        let library = Self.folder.appendingPathComponent("liblagmonitor-preload.so").path
        process.environment = ["LD_PRELOAD": library, page.variable.name: page.variable.value]
        try process.run()
    }

    deinit { end() }

    var pid: Int32 { process.processIdentifier }

    func end() {
        if process.isRunning { kill(pid, SIGKILL) }
        process.waitUntilExit()
        watch.stop()
    }

    /// The first line with this phase, within a time that no machine needs.
    func line(_ phase: String) throws -> [String: Any] {
        for _ in 0..<3000 {
            if let line = sink.lines.first(where: { $0.contains("\"phase\":\"\(phase)\"") }) {
                return try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
            usleep(10_000)
        }
        throw CocoaError(.fileReadUnknown)
    }
}

extension [String: Any] {
    func functions() -> [String] {
        (self["frames"] as? [[String: Any]] ?? []).compactMap { $0["symbol"] as? String }
    }
}
