import Foundation
import Glibc
import TestSupport
import Testing

@testable import LagOutput

struct FileRotationTests {
    private let scratch: ScratchDirectory
    private var path: String { scratch.path + "/log" }

    init() throws { scratch = try ScratchDirectory() }

    private func line(_ letter: Character, _ count: Int) -> String { String(repeating: letter, count: count - 1) + "\n" }

    @Test func `rotated files are numbered from the newest`() throws {
        let sink = try FileSink(path: path, rotation: FileRotation(maxBytes: 4096, maxFiles: 2))
        for letter: Character in ["a", "b", "c", "d"] {
            try sink.put(line(letter, 2048))
            try sink.put(line(letter, 2048))
        }
        #expect(try scratch.names() == ["log", "log.1", "log.2"])
        #expect(try scratch.text("log") == line("d", 2048) + line("d", 2048))
        #expect(try scratch.text("log.1").first == "c")
        #expect(try scratch.text("log.2").first == "b", "the oldest is gone")
    }

    @Test func `a file is filled up to its maximum size`() throws {
        let sink = try FileSink(path: path, rotation: FileRotation(maxBytes: 4096))
        try sink.put(line("a", 4000))
        try sink.put(line("b", 96))
        #expect(try scratch.names() == ["log"])
        try sink.put(line("c", 2))
        #expect(try scratch.names() == ["log", "log.1"])
        #expect(try scratch.text("log") == "c\n" && scratch.text("log.1").utf8.count == 4096)
    }

    @Test func `a line longer than the maximum size is written whole to its own file`() throws {
        let sink = try FileSink(path: path, rotation: FileRotation(maxBytes: 4096))
        try sink.put(line("a", 10_000))
        try sink.put(line("b", 10_000))
        #expect(try scratch.text("log") == line("b", 10_000))
        #expect(try scratch.text("log.1") == line("a", 10_000))
    }

    @Test func `existing content counts towards the size`() throws {
        try Data(line("a", 4000).utf8).write(to: URL(fileURLWithPath: path))
        let sink = try FileSink(path: path, rotation: FileRotation(maxBytes: 4096))
        try sink.put(line("b", 200))
        #expect(try scratch.text("log") == line("b", 200) && scratch.text("log.1") == line("a", 4000))
    }

    /// A file that cannot be moved must not be overwritten.
    @Test func `if a numbered file cannot be moved, lines are appended to the current file`() throws {
        let sink = try FileSink(path: path, rotation: FileRotation(maxBytes: 4096, maxFiles: 2))
        try sink.put(line("a", 4096))
        try sink.put(line("b", 4096))
        try FileManager.default.createDirectory(atPath: scratch.path + "/log.2/full", withIntermediateDirectories: true)
        try sink.put(line("c", 4096))
        #expect(try scratch.text("log") == line("b", 4096) + line("c", 4096))
        #expect(try scratch.text("log.1") == line("a", 4096))
        try FileManager.default.removeItem(atPath: scratch.path + "/log.2")
        try sink.put(line("d", 4096))
        #expect(try scratch.text("log") == line("d", 4096) && scratch.text("log.2") == line("a", 4096))
    }

    /// A file that is itself a mount point cannot be renamed (EBUSY), nor can a missing one.
    @Test func `if the current file cannot be moved, no numbered file is replaced`() throws {
        for number in 1...3 { try Data("\(number)".utf8).write(to: URL(fileURLWithPath: scratch.path + "/log.\(number)")) }
        let rotation = try FileRotation(maxBytes: 4096, maxFiles: 3)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        unlink(path)
        for _ in 0..<5 { #expect(!rotation.rotate(path, descriptor)) }
        for number in 1...3 { #expect(try scratch.text("log.\(number)") == "\(number)") }
    }

    @Test func `files are renumbered only up to the first free number`() throws {
        for name in ["log", "log.1", "log.3", "log.rotating"] {
            try Data(name.utf8).write(to: URL(fileURLWithPath: scratch.path + "/" + name))
        }
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(try FileRotation(maxBytes: 4096, maxFiles: 4).rotate(path, descriptor))
        // The file left by an interrupted rotation is older than the current file.
        #expect(try scratch.names() == ["log.1", "log.2", "log.3", "log.4"])
        #expect(try scratch.text("log.1") == "log" && scratch.text("log.2") == "log.rotating")
        #expect(try scratch.text("log.3") == "log.1" && scratch.text("log.4") == "log.3")
    }

    @Test func `several sinks that write the same file lose no line`() throws {
        let rotation = try FileRotation(maxBytes: 4096, maxFiles: 1000)
        let sinks = try (0..<4).map { _ in try FileSink(path: path, rotation: rotation) }
        let rest = String(repeating: "x", count: 150) + "\n"
        DispatchQueue.concurrentPerform(iterations: sinks.count) { sink in
            for number in 0..<500 { try? sinks[sink].put("\(sink)-\(number)-\(rest)") }
        }
        let lines = try scratch.names().flatMap { try scratch.text($0).split(separator: "\n") }
        #expect(lines.count == 2000 && Set(lines).count == 2000)
    }

    /// A lock through another descriptor acts like one of another process.
    @Test func `a file that another process is rotating is not rotated`() throws {
        let sink = try FileSink(path: path, rotation: FileRotation(maxBytes: 4096))
        let other = open(path, O_WRONLY | O_CLOEXEC)
        defer { close(other) }
        #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
        try sink.put(line("a", 4096))
        try sink.put(line("b", 4096))
        #expect(try scratch.names() == ["log"] && scratch.text("log") == line("a", 4096) + line("b", 4096))
        // The other process has moved the file and is about to number it: until then the new file is not rotated.
        #expect(rename(path, path + ".rotating") == 0)
        try sink.put(line("c", 4096))
        try sink.put(line("d", 4096))
        #expect(try scratch.names() == ["log", "log.rotating"])
        #expect(try scratch.text("log") == line("c", 4096) + line("d", 4096))
        #expect(flock(other, LOCK_UN) == 0)
        try sink.put(line("e", 4096))
        #expect(try scratch.names() == ["log", "log.1", "log.2"])
        #expect(try scratch.text("log") == line("e", 4096) && scratch.text("log.2") == line("a", 4096) + line("b", 4096))
    }

    @Test func `a symbolic link is kept and its target is rotated`() throws {
        let target = scratch.path + "/disk/real"
        try #require(mkdir(scratch.path + "/disk", 0o700) == 0 && symlink("disk/real", path) == 0)
        try Data().write(to: URL(fileURLWithPath: target))
        try #require(chmod(target, 0o640) == 0)
        let sink = try FileSink(path: path, rotation: FileRotation(maxBytes: 4096))
        try sink.put(line("a", 4096))
        try sink.put(line("b", 4096))
        #expect(try scratch.names() == ["disk", "log"])
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(try scratch.text("disk/real.1") == line("a", 4096) && scratch.text("log") == line("b", 4096))
        #expect(stat(target, &status) == 0 && status.st_mode & 0o777 == 0o640)
    }

    /// The kernel's link follows the file to its new name: each line would rotate it once more.
    @Test(arguments: [false, true]) func `a file given by its descriptor is not rotated`(isLinked: Bool) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let name = "/proc/self/fd/\(descriptor)"
        // Such a link is /dev/stdout.
        let link = scratch.path + "/stdout"
        if isLinked { try #require(symlink(name, link) == 0) }
        let sink = try FileSink(path: isLinked ? link : name, rotation: FileRotation(maxBytes: 4096))
        for letter: Character in ["a", "b", "c"] { try sink.put(line(letter, 4096)) }
        #expect(try scratch.names() == (isLinked ? ["log", "stdout"] : ["log"]))
        #expect(try scratch.text("log") == line("a", 4096) + line("b", 4096) + line("c", 4096))
    }

    @Test func `without a maximum size the file is not rotated`() throws {
        let sink = try FileSink(path: path)
        for _ in 0..<10 { try sink.put(line("a", 4096)) }
        #expect(try scratch.names() == ["log"])
    }

    @Test func `a pipe is not rotated`() throws {
        try #require(mkfifo(scratch.path + "/pipe", 0o600) == 0)
        let reader = open(scratch.path + "/pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        let sink = try FileSink(path: scratch.path + "/pipe", rotation: FileRotation(maxBytes: 4096))
        for _ in 0..<3 { try sink.put(line("a", 4096)) }
        #expect(try scratch.names() == ["pipe"])
    }

    @Test(arguments: [
        (4095, 5, "max_bytes is 4095, allowed is 4096 to 1099511627776"), (4096, 0, "max_files is 0, allowed is 1 to 1000"),
        (4096, 1001, "max_files is 1001, allowed is 1 to 1000"),
    ])
    func `invalid rotation sizes are refused by name`(bytes: Int, files: Int, message: String) {
        let error = #expect(throws: FileRotation.ValidationError.self) { try FileRotation(maxBytes: bytes, maxFiles: files) }
        #expect(error?.description == message)
    }
}
