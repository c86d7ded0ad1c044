internal import Foundation
import Glibc
internal import TestSupport
internal import Testing

@testable internal import lagmond

struct StandardOutputTests {
    private static func isFull(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, 0) == 0
    }

    /// A pipe as left by a shell or a service manager that reads without blocking.
    private static func nonBlockingPipe() -> Pipe {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        // A program that another test starts must not keep it open.
        #expect(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0)
        return pipe
    }

    @Test func `a non-blocking pipe receives the complete output`() throws {
        try ScratchDirectory.with { directory in
            try directory.write((1...300).map { StallLines.line($0) }.joined(), to: "a")
            let arguments = ["export", "--format", "sentry", "a"]
            let whole = try LagmondProcess(arguments, in: directory)
            #expect(whole.wait() == 0)
            let expected = whole.output
            let pipe = Self.nonBlockingPipe()
            let lagmond = try LagmondProcess(arguments, in: directory, stdout: pipe.fileHandleForWriting)
            #expect(eventually { Self.isFull(pipe.fileHandleForWriting.fileDescriptor) })
            try pipe.fileHandleForWriting.close()
            let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
            #expect(lagmond.wait() == 0, "\(lagmond.errors)")
            #expect(output.count > 100_000 && output == Data(expected.utf8))
        }
    }

    @Test func `writing to a full pipe gives up after a bounded wait`() throws {
        let pipe = Self.nonBlockingPipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 4096)
        #expect(WholeWrite.write(bytes, to: descriptor) == 0)
        var code: Int32 = 0
        // The capacity of the pipe is 64 KiB by default, and at least 4 KiB.
        for _ in 0..<1000 where code == 0 { code = WholeWrite.write(bytes, to: descriptor, waitMilliseconds: 1) }
        #expect(code == EAGAIN)
    }

    @Test(arguments: [["--help"], ["--version"], ["help", "top"], ["check", "--help"], ["schema"]])
    func `a help or version that cannot be written is an error`(arguments: [String]) throws {
        try ScratchDirectory.with { directory in
            let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
            let lagmond = try LagmondProcess(arguments, in: directory, stdout: full)
            #expect(lagmond.wait() == 71)
            #expect(lagmond.errors == "lagmond: cannot write to stdout: No space left on device\n")
        }
    }

    /// If the output were appended to the input, the file would grow without end.
    @Test(arguments: ["symbolize", "check", "export --format perf", "top"])
    func `an input file is refused as stdout`(command: String) throws {
        try ScratchDirectory.with { directory in
            try directory.write(StallLines.line(1), to: "a")
            for redirected in ["\(command) a >>a", "\(command) <a >>a"] {
                let status = try LagmondProcess.shell("lagmond \(redirected)", in: directory)
                #expect(status == 64)
                #expect(directory.read("err") == "lagmond: stdout: is also an input; allowed: another file, or a pipe\n")
                #expect(directory.read("a") == StallLines.line(1))
            }
        }
    }
}
