internal import Foundation
internal import TestSupport
internal import Testing

/// A program of the test suite, run bare or below `lagmond run --`.
struct ProbeRun {
    let status: Int32
    /// The signal that killed it; 0: none.
    let signal: Int32
    let output: Data
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }

    static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    static let probe = folder.appendingPathComponent("ForeignProbe").path
    static let lagmond = folder.appendingPathComponent("lagmond").path

    /// The arguments that wrap a command.
    static let wrapper = [lagmond, "run", "--"]

    /// The summary on stderr when a command without a loop has exited.
    static let summary = "lagmond: stalls=0 reported=0 dropped=0 suppressed=0; watched loops: 0\n"

    /// How long `main` had been hanging when lagmond took an action; 0: no action.
    var hungSeconds: Double { errors.firstMatch(of: /has been hanging in main for ([0-9.]+) s/).flatMap { Double($0.1) } ?? 0 }

    init(_ command: [String], input: Data = Data(), environment: [String: String] = [:]) throws {
        let running = try RunningProbe(command, environment: environment)
        self = try running.end(input: input)
    }

    init(status: Int32, signal: Int32, output: Data, errors: String) {
        self.status = status
        self.signal = signal
        self.output = output
        self.errors = errors
    }
}

/// A program that the test communicates with while it runs.
final class RunningProbe {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let errors = Pipe()
    private lazy var lines = LineReader(output)
    private lazy var complaints = LineReader(errors)
    private var complaintsSoFar = ""

    init(_ command: [String], environment: [String: String] = [:]) throws {
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        // A test may run on a thread of libdispatch, which blocks nearly all signals; a process started by it would inherit that.
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    var pid: pid_t { process.processIdentifier }

    /// The next line of stdout; `nil` at the end.
    func line() -> String? { lines.next() }

    /// Waits for a line of stderr that contains this text. All lines read stay part of the final `errors`.
    func complaint(containing text: String) throws -> String {
        while let line = complaints.next() {
            complaintsSoFar += line + "\n"
            if line.contains(text) { return line }
        }
        try #require(Bool(false), "it exited before it reported \(text): \(complaintsSoFar)")
        return ""
    }

    /// The port that a lagmond with `--listen 0` reports on stderr.
    func port() throws -> UInt16 {
        try #require(UInt16(try complaint(containing: "listening on http://").split(separator: ":").last ?? ""))
    }

    /// Writes to stdin.
    func send(_ text: String) { input.fileHandleForWriting.write(Data(text.utf8)) }

    func end(input data: Data = Data()) throws -> ProbeRun {
        let writer = input.fileHandleForWriting
        let feeding = Thread {
            writer.write(data)
            try? writer.close()
        }
        feeding.start()
        let text = try lines.rest()
        complaintsSoFar += String(decoding: try complaints.rest(), as: UTF8.self)
        process.waitUntilExit()
        let isSignal = process.terminationReason == .uncaughtSignal
        return ProbeRun(
            status: isSignal ? -1 : process.terminationStatus,
            signal: isSignal ? process.terminationStatus : 0,
            output: text,
            errors: complaintsSoFar
        )
    }
}
