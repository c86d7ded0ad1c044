internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// What lagmond writes only to terminals.
struct TerminalTests {
    /// Runs a command that reads stdin; stdin has one line immediately and ends after this time.
    private func read(_ arguments: [String], for microseconds: UInt32, stderr: FileHandle) throws -> Int32 {
        let (process, input) = (Process(), Pipe())
        process.executableURL = LagmondProcess.binary
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = stderr
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(StallLines.line(1).utf8))
        usleep(microseconds)
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        return process.terminationStatus
    }

    @Test(arguments: [["top"], ["report", "-", "-o", "-"], ["export", "--format", "folded"], ["symbolize"], ["check"]])
    func `reading for more than a second shows the progress`(arguments: [String]) throws {
        let terminal = try Terminal()
        #expect(try read(arguments, for: 1_600_000, stderr: terminal.slave) == 0)
        let text = terminal.read()
        #expect(text.contains("\rreading: 0 MB\u{1b}[K"), "\(text.debugDescription)")
        // The progress line is erased at the end.
        #expect(text.hasSuffix("\r\u{1b}[K") || text.contains("\r\u{1b}[Klagmond: "), "\(text.debugDescription)")
    }

    @Test func `a short read shows no progress`() throws {
        let terminal = try Terminal()
        #expect(try read(["top"], for: 1000, stderr: terminal.slave) == 0)
        #expect(terminal.read() == "")
    }

    @Test func `progress is not written to a file`() throws {
        try ScratchDirectory.with { directory in
            try directory.write("", to: "err")
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: directory.file("err")))
            #expect(try read(["top"], for: 1_600_000, stderr: file) == 0)
            #expect(directory.read("err") == "")
        }
    }

    @Test func `a followed table fits the terminal and keeps its header`() throws {
        try ScratchDirectory.with { directory in
            let lines = (1...40).map {
                StallLines.line($0, fingerprint: "v1:00000000000000\($0 + 10)", culprit: "App.function\($0)")
            }
            try directory.write(lines.joined(), to: "a")
            let terminal = try Terminal(columns: 80, rows: 12)
            let lagmond = try LagmondProcess(
                ["top", "--follow", "--interval-s", "0.1", "a"],
                in: directory,
                stdout: terminal.slave
            )
            #expect(eventually { terminal.read().contains("(31 not shown; --limit)") }, "\(terminal.read())")
            kill(lagmond.pid, SIGTERM)
            #expect(lagmond.wait() == 0)
            let screen = try #require(terminal.read().components(separatedBy: "\u{1b}[H\u{1b}[2J").last)
            let shown = screen.components(separatedBy: "\r\n").filter { !$0.isEmpty }
            #expect(shown.count == 11 && shown[0].hasPrefix("40 stalls") && shown[1].hasPrefix("count  "), "\(screen)")
            #expect(shown.allSatisfy { $0.count <= 80 } && shown[1].contains("culprit"), "\(screen)")
        }
    }
}
