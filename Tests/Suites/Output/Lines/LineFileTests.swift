import Foundation
import Glibc
import LagOutput
import TestSupport
import Testing

/// Which files are accepted as a log, depending on their kind and owner.
struct LineFileTests {
    private static let isRoot = geteuid() == 0
    /// Another user.
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

    @Test func `a created file is accessible only to its user`() throws {
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

    @Test func `the default path does not follow a symbolic link`() throws {
        let scratch = try ScratchDirectory()
        let (path, target) = (scratch.path + "/log", scratch.path + "/target")
        try Data("theirs\n".utf8).write(to: URL(fileURLWithPath: target))
        try #require(symlink(target, path) == 0)
        #expect(refusal(path, .byDefault) == "cannot open \(path): it is a symbolic link; name the file that it leads to")
        #expect(try scratch.text("target") == "theirs\n")
        // A dangling link is not followed either, which would create a file.
        try #require(unlink(target) == 0)
        #expect(refusal(path, .byDefault).contains("symbolic link"))
        #expect(access(target, F_OK) != 0)
        // A path that the user named is opened.
        #expect(refusal(path, .named) == "opened" && mode(target) == 0o600)
    }

    @Test(.enabled(if: isRoot, "needs root")) func `a symbolic link of another user is not followed`() throws {
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

    @Test(.enabled(if: isRoot, "needs root")) func `a chain of links that contains one of another user is not followed`() throws {
        let scratch = try ScratchDirectory()
        let (path, second, target) = (scratch.path + "/log", scratch.path + "/second", scratch.path + "/target")
        try Data().write(to: URL(fileURLWithPath: target))
        try #require(symlink("second", path) == 0 && symlink(target, second) == 0)
        #expect(refusal(path, .named) == "opened")
        try #require(lchown(second, Self.other, 0) == 0)
        #expect(refusal(path, .named).contains("of another user (uid 65534); allowed: this user's and root's"))
    }

    @Test func `relative links are resolved from their own folder`() throws {
        let scratch = try ScratchDirectory()
        try #require(mkdir(scratch.path + "/a", 0o700) == 0 && mkdir(scratch.path + "/b", 0o700) == 0)
        try #require(symlink("../b/second", scratch.path + "/a/log") == 0 && symlink("third", scratch.path + "/b/second") == 0)
        #expect(refusal(scratch.path + "/a/log", .named) == "opened")
        #expect(access(scratch.path + "/b/third", F_OK) == 0 && mode(scratch.path + "/b/third") == 0o600)
        try #require(symlink("log2", scratch.path + "/a/log2") == 0)
        #expect(refusal(scratch.path + "/a/log2", .named).contains("Too many levels of symbolic links"))
        // A link of the kernel, like /dev/stdout.
        let file = Glibc.open(scratch.path + "/out", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        #expect(refusal("/proc/self/fd/\(file)", .named) == "opened")
    }

    @Test func `the default path accepts only a regular file without other hard links`() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path + "/log"
        #expect(try open(path, .byDefault))
        try #require(link(path, scratch.path + "/second") == 0)
        #expect(refusal(path, .byDefault).hasSuffix("it has 2 names (hard links)"))
        try #require(mkdir(scratch.path + "/folder", 0o700) == 0 && mkfifo(scratch.path + "/pipe", 0o600) == 0)
        #expect(refusal(scratch.path + "/folder", .byDefault).contains("Is a directory"))
        let reader = Glibc.open(scratch.path + "/pipe", O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        #expect(refusal(scratch.path + "/pipe", .byDefault).hasSuffix("it is not a regular file"))
        #expect(refusal(scratch.path + "/pipe", .named) == "opened")
    }

    @Test(.enabled(if: isRoot, "needs root")) func `the default path does not accept a file of another user`() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path + "/log"
        try Data().write(to: URL(fileURLWithPath: path))
        try #require(chown(path, Self.other, 0) == 0)
        #expect(refusal(path, .byDefault).hasSuffix("it belongs to another user (uid 65534)"))
    }

    @Test func `the default path is not created in a folder that everyone can write to`() throws {
        let scratch = try ScratchDirectory()
        let folder = scratch.path + "/open"
        try #require(mkdir(folder, 0o700) == 0 && chmod(folder, 0o1777) == 0)
        #expect(refusal(folder + "/log", .byDefault) == "cannot open \(folder)/log: every user can write to the folder")
        #expect(access(folder + "/log", F_OK) != 0)
        #expect(refusal(folder + "/log", .named) == "opened")
        // An existing file is opened.
        #expect(refusal(folder + "/log", .byDefault) == "opened")
    }

    @Test func `a rotated file passes its permissions to the next one`() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path + "/log"
        let sink = try FileSink(path: path, rotation: FileRotation(maxBytes: 4096))
        #expect(mode(path) == 0o600)
        try #require(chmod(path, 0o640) == 0)
        // The sink reads the permissions when it opens the file.
        try sink.reopen()
        for _ in 0..<3 { try sink.put(String(repeating: "a", count: 3000) + "\n") }
        #expect(mode(path) == 0o640 && mode(path + ".1") == 0o640)
    }

    @Test func `a link of another user that replaces the log is not followed`() throws {
        guard Self.isRoot else { return }
        let scratch = try ScratchDirectory()
        let (path, target) = (scratch.path + "/log", scratch.path + "/target")
        let sink = try FileSink(path: path)
        try sink.put("a\n")
        try Data().write(to: URL(fileURLWithPath: target))
        try #require(rename(path, scratch.path + "/old") == 0)
        try #require(symlink(target, path) == 0 && lchown(path, Self.other, 0) == 0)
        // The line goes to the old file, where it is not lost.
        try sink.put("b\n")
        #expect(try scratch.text("old") == "a\nb\n" && (try scratch.text("target")) == "")
    }
}
