import Foundation
import Glibc
import LagOutput
import TestSupport
import Testing

struct FileSinkTests {
    private let scratch: ScratchDirectory
    private var path: String { scratch.path + "/log" }

    init() throws { scratch = try ScratchDirectory() }

    private func rename(_ from: String, _ to: String) throws {
        try #require(Glibc.rename(scratch.path + "/" + from, scratch.path + "/" + to) == 0)
    }

    @Test func `lines are appended without a header`() throws {
        try FileSink(path: path).put("a\n")
        #expect(try scratch.text("log") == "a\n")
        try FileSink(path: path).put("b\n")
        #expect(try scratch.text("log") == "a\nb\n")
    }

    @Test func `opening a sink writes nothing`() throws {
        let sink = try FileSink(path: path)
        #expect(try scratch.text("log") == "")
        sink.close()
    }

    @Test func `a file without a final newline gets one`() throws {
        try Data("{\"torn\":".utf8).write(to: URL(fileURLWithPath: path))
        try FileSink(path: path).put("a\n")
        #expect(try scratch.text("log") == "{\"torn\":\na\n")
    }

    @Test func `rotation by rename is detected`() throws {
        let sink = try FileSink(path: path)
        try sink.put("a\n")
        try rename("log", "log.1")
        try sink.put("b\n")
        #expect(try scratch.text("log.1") == "a\n")
        #expect(try scratch.text("log") == "b\n")
    }

    @Test func `a replaced file is detected`() throws {
        let sink = try FileSink(path: path)
        try sink.put("a\n")
        try Data("theirs".utf8).write(to: URL(fileURLWithPath: scratch.path + "/new"))
        try rename("new", "log")
        try sink.put("b\n")
        #expect(try scratch.text("log") == "theirs\nb\n")
    }

    @Test func `a removed file is created again`() throws {
        let sink = try FileSink(path: path)
        try sink.put("a\n")
        try FileManager.default.removeItem(atPath: path)
        try sink.put("b\n")
        #expect(try scratch.text("log") == "b\n")
    }

    @Test func `reopening creates the new file immediately`() throws {
        let sink = try FileSink(path: path)
        try sink.put("a\n")
        try rename("log", "log.1")
        try sink.reopen()
        #expect(try scratch.text("log") == "")
        try sink.put("b\n")
        #expect(try scratch.text("log") == "b\n")
    }

    @Test func `truncation in place leaves no hole`() throws {
        let sink = try FileSink(path: path)
        try sink.put("aaaaaaaaaa\n")
        try #require(truncate(path, 0) == 0)
        try sink.put("b\n")
        #expect(try scratch.text("log") == "b\n")
    }

    @Test func `lines go to the old file as long as the new one cannot be opened`() throws {
        let sink = try FileSink(path: path)
        try rename("log", "log.1")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try sink.put("a\n")
        #expect(throws: SinkError(.cannotOpen, path: sink.name, code: EISDIR)) { try sink.reopen() }
        try sink.put("b\n")
        #expect(try scratch.text("log.1") == "a\nb\n")
        try FileManager.default.removeItem(atPath: path)
        try sink.put("c\n")
        #expect(try scratch.text("log") == "c\n")
    }

    @Test func `a removed folder is an error until it exists again`() throws {
        let directory = try ScratchDirectory()
        let folder = directory.path + "/folder"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let sink = try FileSink(path: folder + "/a")
        try sink.put("1\n")
        try FileManager.default.removeItem(atPath: folder)
        #expect(throws: SinkError(.cannotOpen, path: folder + "/a", code: ENOENT)) { try sink.put("2\n") }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try sink.put("3\n")
        #expect(try directory.text("folder/a") == "3\n")
    }

    @Test func `a full disk is an error with path and reason`() throws {
        let sink = try FileSink(path: "/dev/full")
        let error = #expect(throws: SinkError.self) { try sink.put("a\n") }
        #expect(error?.description == "cannot write to /dev/full: No space left on device (errno 28)")
        #expect(error?.reason == .writeFailed)
        #expect(sink.takeAbandonedLines() == 0)
    }

    @Test func `a file that cannot be opened is an error with its path`() throws {
        let error = #expect(throws: SinkError.self) { try FileSink(path: "/nonexistent/log") }
        #expect(error?.description == "cannot open /nonexistent/log: No such file or directory (errno 2)")
    }

    @Test func `a pipe without a reader is an error without a wait`() throws {
        try #require(mkfifo(scratch.path + "/pipe", 0o600) == 0)
        let error = #expect(throws: SinkError.self) { try FileSink(path: scratch.path + "/pipe") }
        #expect(error?.reason == .cannotOpen && error?.code == ENXIO)
        #expect(error?.description.contains("it is a pipe without a reader") == true)
    }

    @Test func `a closed sink refuses lines and stays closed`() throws {
        let sink = try FileSink(path: path)
        sink.close()
        sink.close()
        #expect(throws: SinkError(.closed, path: sink.name)) { try sink.put("a\n") }
        #expect(throws: SinkError(.closed, path: sink.name)) { try sink.reopen() }
        #expect(try scratch.text("log") == "")
    }

    /// The file size limit makes one write short and the next one fail, like a full disk; it also sends a signal that ends the
    /// process. The test runs in its own process, because the limit applies to the process.
    @Test func `a line cut by a size limit is finished when there is space again`() async {
        await #expect(processExitsWith: .success) {
            let scratch = try ScratchDirectory()
            let sink = try FileSink(path: scratch.path + "/log")
            try sink.put("first\n")
            try limitFileSize(10)
            try sink.put("second\n")
            #expect(throws: SinkError(.writeFailed, path: sink.name, code: EFBIG)) { try sink.put("third\n") }
            try limitFileSize(1_000_000)
            try sink.put("fourth\n")
            #expect(try scratch.text("log") == "first\nsecond\nfourth\n")
            #expect(sink.takeAbandonedLines() == 0)
        }
    }

    @Test func `a line cut by a size limit and not finished is counted and the next file starts clean`() async {
        await #expect(processExitsWith: .success) {
            let scratch = try ScratchDirectory()
            let sink = try FileSink(path: scratch.path + "/log")
            try limitFileSize(10)
            try sink.put("longer than that\n")
            try #require(Glibc.rename(scratch.path + "/log", scratch.path + "/log.1") == 0)
            try sink.put("next\n")
            #expect(sink.takeAbandonedLines() == 1)
            #expect(sink.takeAbandonedLines() == 0)
            #expect(try scratch.text("log") == "next\n")
            #expect(try scratch.text("log.1") == "longer tha")
        }
    }
}

/// Changes the process's soft limit, below its hard limit.
private func limitFileSize(_ bytes: UInt) throws {
    // A host has the default disposition, which ends the process; the pool thread that runs this blocks the signal.
    signal(SIGXFSZ, SIG_DFL)
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGXFSZ)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    var limit = rlimit()
    try #require(getrlimit(__rlimit_resource_t(1), &limit) == 0)
    limit.rlim_cur = rlim_t(bytes)
    try #require(setrlimit(__rlimit_resource_t(1), &limit) == 0)
}
