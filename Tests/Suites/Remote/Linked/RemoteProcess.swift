internal import CLagBeacon
internal import Foundation
import LagDetection
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// A program with the preloaded library, whose loops are watched from here. It accepts commands.
final class RemoteProcess {
    let sink = MemorySink()
    let watch: SharedLoopTableWatch
    let table: SharedLoopTable
    private let configuration: StallMonitorConfiguration
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private lazy var lines = LineReader(output)

    private static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    /// - Parameters:
    ///   - selection: which of its loops are watched.
    ///   - path: the table path passed to the program; the table's own path if nil.
    ///   - checkNanoseconds: how often it is checked whether the program still runs.
    ///   - prepare: gets the table before anything is written to it.
    init(
        _ arguments: [String],
        program: String = "ForeignProbe",
        selection: LoopSelection = LoopSelection(),
        path: String? = nil,
        checkNanoseconds: UInt64 = 1_000_000_000,
        prepare: (SharedLoopTable) throws -> Void = { _ in }
    ) throws {
        // Writing to an exited program must not end this process.
        signal(SIGPIPE, SIG_IGN)
        table = try SharedLoopTable()
        try prepare(table)
        var configuration = StallMonitorConfiguration()
        configuration.rules = StallRules()
        configuration.limits = .none
        self.configuration = configuration
        watch = SharedLoopTableWatch(
            table: table,
            configuration: RemoteConfiguration(configuration, selection: selection),
            sink: sink,
            checkNanoseconds: checkNanoseconds
        ) {
            Issue.record("\($0)")
        }
        try watch.start()
        process.executableURL = Self.folder.appendingPathComponent(program)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        let library = Self.folder.appendingPathComponent("liblagmonitor-preload.so").path
        process.environment = ["LD_PRELOAD": library, table.variable.name: path ?? table.variable.value]
        try process.run()
    }

    deinit { end() }

    var pid: Int32 { process.processIdentifier }

    /// The reported lines, without those that only a busy machine adds.
    var reported: [String] { withoutRunqueue(sink.lines) }

    /// Waits until the program has a provisional claim and the watch has seen it.
    func hasProvisionalClaim() -> Bool {
        let isThere = eventually {
            (0..<UInt32(CLB_LOOP_TABLE_SLOTS)).contains { self.table.loop(at: $0)?.state == .provisional }
        }
        // A watch that answers this probe has already seen the claim.
        let isAnswered = watch.probeLiveness()
        return isThere && eventually { isAnswered() }
    }

    /// Waits until a provisional claim is watched during its wait: its beacon is armed at the second visit at the earliest.
    func isCandidateWatched() -> Bool {
        eventually {
            (0..<UInt32(CLB_LOOP_TABLE_SLOTS)).contains { index in
                self.table.loop(at: index)?.state == .provisional
                    && clb_loop_table_beacon(self.table.raw, index).pointee.armed & UInt16(CLB_ARMED_ANY) != 0
            }
        }
    }

    func end() {
        if process.isRunning { kill(pid, SIGKILL) }
        process.waitUntilExit()
        watch.stop()
    }

    func select(_ selection: LoopSelection) { watch.configure(RemoteConfiguration(configuration, selection: selection)) }

    /// The names of the watched loops, sorted.
    var loopNames: [String] { watch.watchedProcesses.flatMap { $0.loops.map(\.name) }.sorted() }

    /// Writes a command to the program.
    func send(_ text: String) { input.fileHandleForWriting.write(Data(text.utf8)) }

    /// Waits for the next line of the program's output; nil at its end.
    func nextLine() -> String? { lines.next() }

    /// The processor time of the computing handler, in the stall of a line.
    func processorTime(of line: [String: Any]) throws -> ProcessorTime {
        let start = try #require(line["mono_us"] as? NSNumber).uint64Value * 1000
        return try #require(ProcessorTime.next(in: lines, endingAfter: start))
    }

    /// Waits until the program has printed this word. Returns the lines before it.
    @discardableResult
    func nextLine(until word: String) throws -> [String] {
        var before: [String] = []
        while let line = nextLine() {
            if line == word { return before }
            before.append(line)
        }
        throw CocoaError(.fileReadUnknown)
    }

    /// The first line with this phase after `count` lines of any kind, within a time limit that is generous on any machine.
    func line(_ phase: String, after count: Int = 0) throws -> [String: Any] {
        for _ in 0..<3000 {
            if let line = sink.lines.dropFirst(count).first(where: { $0.contains("\"phase\":\"\(phase)\"") }) {
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
