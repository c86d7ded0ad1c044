internal import Foundation
import Glibc
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// The destination of the page.
struct ReportOutputTests {
    @Test func `the page replaces an older one and keeps its permissions and links`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(StallLines.line(1), to: "a")
            try directory.write("the one before", to: "real.html")
            chmod(directory.file("real.html"), 0o640)
            #expect(symlink("real.html", directory.file("page.html")) == 0)
            let lagmond = try LagmondProcess(["report", "a", "-o", "page.html"], in: directory)
            #expect(lagmond.wait() == 0)
            #expect(directory.read("real.html").hasPrefix("<!doctype html>"))
            #expect(directory.read("page.html").hasPrefix("<!doctype html>"))
            var status = stat()
            #expect(lstat(directory.file("page.html"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
            #expect(stat(directory.file("real.html"), &status) == 0 && status.st_mode & 0o777 == 0o640)
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(Set(names) == ["a", "real.html", "page.html", "out", "err"])
        }
    }

    /// In a container every run has the same process ID.
    @Test func `a partial file of an interrupted run does not prevent writing`() throws {
        try ScratchDirectory.with { directory in
            let left = "page.html.\(getpid()).part"
            try directory.write("half", to: left)
            try OutputFile.write(Array("whole".utf8), to: directory.file("page.html"))
            #expect(directory.read("page.html") == "whole" && directory.read(left) == "half")
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(Set(names) == ["page.html", left])
        }
    }

    @Test(arguments: [
        ("gone/page.html", "No such file or directory"), ("folder", "Is a directory"), ("/dev/full", "No space left"),
    ])
    func `a page that cannot be written is reported with path and reason`(path: String, reason: String) throws {
        try ScratchDirectory.with { directory in
            try directory.write(StallLines.line(1), to: "a")
            mkdir(directory.file("folder"), 0o700)
            let lagmond = try LagmondProcess(["report", "a", "-o", path], in: directory)
            #expect(lagmond.wait() == 73)
            #expect(lagmond.errors.hasPrefix("lagmond: cannot "), "\(lagmond.errors)")
            #expect(lagmond.errors.contains("\(path): \(reason)"), "\(lagmond.errors)")
        }
    }

    @Test func `an input file is not overwritten`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(StallLines.line(1), to: "a")
            #expect(symlink("a", directory.file("link")) == 0)
            let lagmond = try LagmondProcess(["report", "a", "-o", "link"], in: directory)
            #expect(lagmond.wait() == 64)
            #expect(lagmond.errors == "lagmond: --output: link is also an input; allowed: another file\n")
            #expect(directory.read("a") == StallLines.line(1))
        }
    }

    @Test func `a file that stdin reads is not overwritten`() throws {
        try ScratchDirectory.with { directory in
            try directory.write(StallLines.line(1), to: "a")
            let status = try LagmondProcess.shell("lagmond report -o a <a", in: directory)
            #expect(status == 64)
            #expect(directory.read("err") == "lagmond: --output: a is also an input; allowed: another file\n")
            let first = try LagmondProcess.shell("lagmond report -o - a >>a", in: directory)
            #expect(first == 64)
            #expect(directory.read("a") == StallLines.line(1))
            let second = try LagmondProcess.shell("lagmond report -o page.html <a", in: directory)
            #expect(second == 0)
            #expect(directory.read("page.html").hasPrefix("<!doctype html>"))
        }
    }

    @Test func `no page is written if no input could be opened`() throws {
        try ScratchDirectory.with { directory in
            try directory.write("the one before", to: "page.html")
            let lagmond = try LagmondProcess(["report", "gone", "-o", "page.html"], in: directory)
            #expect(lagmond.wait() == 66)
            #expect(directory.read("page.html") == "the one before")
        }
    }

    @Test func `a missing file is reported and the page contains the other files`() throws {
        let arguments = ["report", "gone", "a", "-o", "-"]
        let (status, output, errors) = try LagmondProcess.run(arguments, files: ["a": StallLines.line(1)])
        #expect(status == 66)
        #expect(errors == "lagmond: cannot open gone: No such file or directory\n")
        #expect(output.contains("Inputs that could not be opened: 1."))
        #expect(output.contains("acquire</bdi>"))
    }

    @Test(arguments: [
        (["-o", "x", "--top", "0"], "allowed: 1 to 200"), (["-o", "x", "--top", "201"], "allowed: 1 to 200"),
        (["-o", "x", "--since", "soon"], "allowed: 2026-11-21T18:00:00Z"), ([], "Missing expected argument"),
        (["-o", "x", "--title", String(repeating: "t", count: 201)], "allowed: 200"), (["-o", ""], "the name of a file"),
    ])
    func `invalid options are refused`(arguments: [String], part: String) throws {
        let (status, _, errors) = try LagmondProcess.run(["report", "a"] + arguments, files: ["a": StallLines.line(1)])
        #expect(status == 64)
        #expect(errors.contains(part), "\(errors)")
    }

    @Test func `SHA-256 hashes match the test vectors of the standard`() {
        func hex(_ text: String) -> String { SHA256.hash(Array(text.utf8)).map { String(format: "%02x", $0) }.joined() }
        #expect(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
                == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        )
    }
}
