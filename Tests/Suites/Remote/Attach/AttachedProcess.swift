internal import Foundation
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// An unmodified program with no library loaded into it, watched from here.
final class AttachedProcess {
    static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    let sink = MemorySink()
    let watch: AttachWatch
    private let process: Process
    private let output = Pipe()
    private lazy var lines = LineReader(output)

    init(
        _ argument: String,
        selection: LoopSelection = LoopSelection(),
        mayCount: Bool = true,
        reportError: @escaping @Sendable (String) -> Void = { Issue.record("\($0)") }
    ) throws {
        process = try Self.start(argument, output)
        var configuration = StallMonitorConfiguration()
        configuration.rules = StallRules()
        configuration.rules.starvationThreshold = nil
        configuration.limits = .none
        do {
            watch = try AttachWatch(
                process: process.processIdentifier,
                configuration: RemoteConfiguration(configuration, selection: selection),
                sink: sink,
                mayCount: mayCount,
                reportError: reportError
            )
            try watch.start()
        } catch {
            // Nothing else would end it.
            Self.end(process)
            throw error
        }
    }

    static func start(_ argument: String, _ output: Pipe? = nil) throws -> Process {
        let process = Process()
        process.executableURL = folder.appendingPathComponent("ForeignProbe")
        process.arguments = ["epoll", argument]
        process.standardOutput = output ?? FileHandle.nullDevice
        try process.run()
        return process
    }

    var pid: Int32 { process.processIdentifier }

    func end() {
        Self.end(process)
        watch.stop()
    }

    /// Foundation considers a child ended while this process holds it by ptrace; and the child may block SIGTERM.
    static func end(_ process: Process) {
        kill(process.processIdentifier, SIGKILL)
        if process.isRunning { process.waitUntilExit() }
    }

    /// The first line with this phase, within a time limit that is generous on any machine.
    func line(_ phase: String) throws -> [String: Any] {
        for _ in 0..<3000 {
            if let line = sink.lines.first(where: { $0.contains("\"phase\":\"\(phase)\"") }) {
                return try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
            usleep(10_000)
        }
        throw CocoaError(.fileReadUnknown)
    }

    /// How long the main thread of a process ran, and how long it waited for a processor.
    static func schedulerTimes(of pid: Int32) throws -> (runningNanoseconds: UInt64, waitingNanoseconds: UInt64) {
        let text = try String(contentsOfFile: "/proc/\(pid)/task/\(pid)/schedstat", encoding: .utf8)
        let numbers = text.split(separator: " ").compactMap { UInt64($0) }
        return (try #require(numbers.first), try #require(numbers.dropFirst().first))
    }

    /// The processor time of the computing handler, in the stall of a line.
    func processorTime(of line: [String: Any]) throws -> ProcessorTime {
        let start = try #require(line["mono_us"] as? NSNumber).uint64Value * 1000
        return try #require(ProcessorTime.next(in: lines, endingAfter: start))
    }

    /// The ended stalls, once there are `count`.
    func ended(_ count: Int) throws -> [[String: Any]] {
        let lines = { self.sink.lines.filter { $0.contains("\"phase\":\"end\"") } }
        for _ in 0..<3000 where lines().count < count { usleep(10_000) }
        return try lines().map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    }

    /// The program's own measurement of the stall of a line. To be called in chronological order.
    func measured(_ line: [String: Any]) throws -> MeasuredStall {
        let start = try #require(line["mono_us"] as? NSNumber).uint64Value * 1000
        let duration = try #require(line["duration_ms"] as? Double)
        let middle = start + UInt64(duration * 500_000)
        while let printed = lines.next() {
            if let stall = MeasuredStall(line: printed), stall.end > middle { return stall }
        }
        throw CocoaError(.fileReadUnknown)
    }

    func waitUntilWatched() {
        for _ in 0..<1000 where watch.watchedLoops == 0 { usleep(10_000) }
        #expect(watch.watchedLoops == 1)
    }
}

/// `stalled BEFORE BEGIN END AFTER`: the loop waited until some time between the first two, and again from some time between the
/// last two.
struct MeasuredStall {
    let before, begin, end, after: UInt64

    init?(line: String) {
        let words = line.split(separator: " ")
        let numbers = words.dropFirst().compactMap { UInt64($0) }
        guard words.first == "stalled", numbers.count == 4 else { return nil }
        (before, begin, end, after) = (numbers[0], numbers[1], numbers[2], numbers[3])
    }
}
