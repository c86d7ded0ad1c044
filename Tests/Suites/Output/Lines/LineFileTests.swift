import Foundation
import Glibc
import LagOutput
import Testing

/// What may stand in a log's place, and who put it there.
struct LineFileTests {
    private static let isRoot = geteuid() == 0
    /// Somebody else.
    private static let other: uid_t = 65534

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    private func open(_ path: String, _ choice: LineFile.Choice) throws -> Bool {
        let opened = try LineFile.open(path, choice)
        close(opened.descriptor)
        return opened.isNew
    }

    private func refusal(_ path: String, _ choice: LineFile.Choice) -> String {
        do throws(SinkError) {
            close(try LineFile.open(path, choice).descriptor)
            return "opened"
        } catch {
            return "\(error)"
        }
    }

    @Test func `what is created is the users own`() throws {
        let scratch = try ScratchDirectory()
        let before = umask(0)
        defer { umask(before) }
        for choice in [LineFile.Choice.named, .byDefault] {
            let path = scratch.path + "/\(choice)"
            #expect(try open(path, choice))
            #expect(mode(path) == 0o600)
            #expect(try !open(path, choice))
        }
    }

    @Test func `a default follows no link`() throws {
        let scratch = try ScratchDirectory()
        let (path, target) = (scratch.path + "/log", scratch.path + "/target")
        try Data("theirs\n".utf8).write(to: URL(fileURLWithPath: target))
        try #require(symlink(target, path) == 0)
        #expect(refusal(path, .byDefault) == "cannot open \(path): it is a symbolic link; name the file that it leads to")
        #expect(try scratch.text("target") == "theirs\n")
        // Nor one that leads nowhere, which would create a file there.
        try #require(unlink(target) == 0)
        #expect(refusal(path, .byDefault).contains("symbolic link"))
        #expect(access(target, F_OK) != 0)
        // Who names it gets it.
        #expect(refusal(path, .named) == "opened" && mode(target) == 0o600)
    }

    @Test(.enabled(if: isRoot, "needs root")) func `nobody follows a link of another user`() throws {
        let scratch = try ScratchDirectory()
        let (path, target) = (scratch.path + "/log", scratch.path + "/target")
        try Data().write(to: URL(fileURLWithPath: target))
        try #require(symlink(target, path) == 0 && lchown(path, Self.other, 0) == 0)
        for choice in [LineFile.Choice.named, .byDefault] {
            let text = refusal(path, choice)
            #expect(text.hasPrefix("cannot open \(path): it is a symbolic link"), "\(text)")
        }
        #expect(refusal(path, .named).contains("of another user (uid 65534); allowed: this user's and root's"))
        #expect(throws: SinkError.self) { try FileSink(path: path) }
    }

    @Test(.enabled(if: isRoot, "needs root")) func `nor one that ones own link leads to`() throws {
        let scratch = try ScratchDirectory()
        let (path, second, target) = (scratch.path + "/log", scratch.path + "/second", scratch.path + "/target")
        try Data().write(to: URL(fileURLWithPath: target))
        try #require(symlink("second", path) == 0 && symlink(target, second) == 0)
        #expect(refusal(path, .named) == "opened")
        try #require(lchown(second, Self.other, 0) == 0)
        #expect(refusal(path, .named).contains("of another user (uid 65534); allowed: this user's and root's"))
    }

    @Test func `links are followed from where they are`() throws {
        let scratch = try ScratchDirectory()
        try #require(mkdir(scratch.path + "/a", 0o700) == 0 && mkdir(scratch.path + "/b", 0o700) == 0)
        try #require(symlink("../b/second", scratch.path + "/a/log") == 0 && symlink("third", scratch.path + "/b/second") == 0)
        #expect(refusal(scratch.path + "/a/log", .named) == "opened")
        #expect(access(scratch.path + "/b/third", F_OK) == 0 && mode(scratch.path + "/b/third") == 0o600)
        try #require(symlink("log2", scratch.path + "/a/log2") == 0)
        #expect(refusal(scratch.path + "/a/log2", .named).contains("Too many levels of symbolic links"))
        // The kernel's own, as /dev/stdout.
        let file = Glibc.open(scratch.path + "/out", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        #expect(refusal("/proc/self/fd/\(file)", .named) == "opened")
    }

    @Test func `a default takes a plain file with one name`() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path + "/log"
        #expect(try open(path, .byDefault))
        try #require(link(path, scratch.path + "/second") == 0)
        #expect(refusal(path, .byDefault).hasSuffix("it has 2 names (hard links)"))
        try #require(mkdir(scratch.path + "/folder", 0o700) == 0 && mkfifo(scratch.path + "/pipe", 0o600) == 0)
        #expect(refusal(scratch.path + "/folder", .byDefault).contains("Is a directory"))
        let reader = Glibc.open(scratch.path + "/pipe", O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        #expect(refusal(scratch.path + "/pipe", .byDefault).hasSuffix("it is no plain file"))
        #expect(refusal(scratch.path + "/pipe", .named) == "opened")
    }

    @Test(.enabled(if: isRoot, "needs root")) func `a default takes no file of another user`() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path + "/log"
        try Data().write(to: URL(fileURLWithPath: path))
        try #require(chown(path, Self.other, 0) == 0)
        #expect(refusal(path, .byDefault).hasSuffix("it belongs to another user (uid 65534)"))
    }

    @Test func `a default is not created where everybody can write`() throws {
        let scratch = try ScratchDirectory()
        let folder = scratch.path + "/open"
        try #require(mkdir(folder, 0o700) == 0 && chmod(folder, 0o1777) == 0)
        #expect(refusal(folder + "/log", .byDefault) == "cannot open \(folder)/log: every user can write to the folder")
        #expect(access(folder + "/log", F_OK) != 0)
        #expect(refusal(folder + "/log", .named) == "opened")
        // What is there is not created.
        #expect(refusal(folder + "/log", .byDefault) == "opened")
    }

    @Test func `the next file has the permissions of the last`() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path + "/log"
        let sink = try FileSink(path: path, rotation: FileRotation(maxBytes: 4096))
        #expect(mode(path) == 0o600)
        try #require(chmod(path, 0o640) == 0)
        // Known from when it was opened.
        try sink.reopen()
        for _ in 0..<3 { try sink.put(String(repeating: "a", count: 3000) + "\n") }
        #expect(mode(path) == 0o640 && mode(path + ".1") == 0o640)
    }

    @Test func `a link that takes the logs place is not followed`() throws {
        guard Self.isRoot else { return }
        let scratch = try ScratchDirectory()
        let (path, target) = (scratch.path + "/log", scratch.path + "/target")
        let sink = try FileSink(path: path)
        try sink.put("a\n")
        try Data().write(to: URL(fileURLWithPath: target))
        try #require(rename(path, scratch.path + "/old") == 0)
        try #require(symlink(target, path) == 0 && lchown(path, Self.other, 0) == 0)
        // To the old file, where it is not lost.
        try sink.put("b\n")
        #expect(try scratch.text("old") == "a\nb\n" && (try scratch.text("target")) == "")
    }
}
