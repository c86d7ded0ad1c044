internal import Foundation
internal import TestSupport
internal import Testing

/// A program with the preloaded library and its own table.
final class WatchedProbe {
    struct Word: Equatable {
        let text: String
        let pid: Int32
        let tid: Int32
    }

    let table: TestLoopTable
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let errors = Pipe()
    private lazy var lines = LineReader(output)

    static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    static let library = folder.appendingPathComponent("liblagmonitor-preload.so").path

    /// - Parameter prepare: gets the table before the program starts.
    init(
        _ arguments: String...,
        preload: String = WatchedProbe.library,
        path: String? = nil,
        program: URL = WatchedProbe.folder.appendingPathComponent("ForeignProbe"),
        prepare: (TestLoopTable) -> Void = { _ in }
    ) throws {
        table = try TestLoopTable()
        prepare(table)
        process.executableURL = program
        process.arguments = ["waits"] + arguments
        process.environment = ProcessInfo.processInfo.environment
            .merging(["LD_PRELOAD": preload, "LAGMONITOR_LOOP_TABLE": path ?? table.path]) { _, new in new }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        try process.run()
    }

    deinit {
        // The program may block SIGTERM: it inherits the signals that Dispatch blocks.
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// The next line of the program: a word, the process ID and the thread ID.
    @discardableResult
    func word(_ expected: String) throws -> Word {
        let line = try #require(lines.next(), "the program exited before it printed \(expected)")
        let parts = line.split(separator: " ")
        try #require(parts.count == 3, "unexpected output: \(parts)")
        let word = Word(text: String(parts[0]), pid: try #require(Int32(parts[1])), tid: try #require(Int32(parts[2])))
        try #require(word.text == expected)
        return word
    }

    func goOn() { input.fileHandleForWriting.write(Data("\n".utf8)) }

    /// Lets it continue to its next word.
    @discardableResult
    func next(_ expected: String) throws -> Word {
        goOn()
        return try word(expected)
    }

    /// Lets it continue, and expects that it exits without an error.
    func expectEnd(_ location: SourceLocation = #_sourceLocation) throws {
        goOn()
        let result = try end()
        #expect(result == (0, ""), sourceLocation: location)
    }

    /// Waits for its exit. Returns its status and its output to stderr.
    func end() throws -> (status: Int32, errors: String) {
        try input.fileHandleForWriting.close()
        let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus, text)
    }
}
