import Foundation
import Glibc
import LagActivity
import LagOutput
import TestSupport
import Testing

/// Both ends of a pipe or of a socket pair; they are closed with their owner.
private final class Ends {
    private(set) var reader: Int32
    private(set) var writer: Int32
    let limit: Int

    init(socket: Bool = false) throws {
        var ends: [Int32] = [-1, -1]
        let made = socket ? socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) : pipe(&ends)
        try #require(made == 0)
        (reader, writer) = (ends[0], ends[1])
        // A process that another test starts in the meantime must not keep an end open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // F_SETPIPE_SZ: two pages, so that it is full soon.
        limit = socket ? 0 : Int(fcntl(writer, 1031, 8192))
    }

    deinit {
        closeReader()
        closeWriter()
    }

    func closeReader() {
        if reader >= 0 { close(reader) }
        reader = -1
    }

    func closeWriter() {
        if writer >= 0 { close(writer) }
        writer = -1
    }

    /// The bytes available now, up to `count`.
    func read(_ count: Int = 1 << 20) -> String {
        var buffer = [UInt8](repeating: 0, count: count)
        var entry = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 0) > 0 else { return "" }
        let got = Glibc.read(reader, &buffer, count)
        return String(decoding: buffer.prefix(max(0, got)), as: UTF8.self)
    }

    /// Everything up to the end of the stream.
    func readToEnd() -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 700)
        while true {
            let got = Glibc.read(reader, &buffer, buffer.count)
            guard got > 0 else { return String(decoding: text, as: UTF8.self) }
            text += buffer.prefix(got)
        }
    }
}

private func line(_ letter: Character, _ count: Int) -> String { String(repeating: letter, count: count - 1) + "\n" }

struct DescriptorSinkTests {
    @Test(arguments: [false, true]) func `a line arrives and the original descriptor is unchanged`(socket: Bool) throws {
        let ends = try Ends(socket: socket)
        let flags = fcntl(ends.writer, F_GETFL)
        let sink = try DescriptorSink(descriptor: ends.writer, name: "out")
        try sink.put("a\n")
        #expect(ends.read() == "a\n")
        #expect(fcntl(ends.writer, F_GETFL) == flags)
        sink.close()
        #expect(write(ends.writer, "x", 1) == 1)
        #expect(ends.read() == "x")
    }

    @Test func `the original descriptor can be closed`() throws {
        let ends = try Ends()
        let sink = try DescriptorSink(descriptor: ends.writer, name: "out")
        ends.closeWriter()
        try sink.put("a\n")
        #expect(ends.read() == "a\n")
        sink.close()
        #expect(ends.readToEnd() == "")
    }

    /// The default disposition of SIGPIPE ends the process, so the test fails if the signal is raised.
    @Test(arguments: [false, true]) func `a closed reader is an error and raises no signal`(socket: Bool) throws {
        let ends = try Ends(socket: socket)
        let sink = try DescriptorSink(descriptor: ends.writer, name: "out")
        ends.closeReader()
        // On its own thread, with the signal mask of a host's thread.
        let thread = Thread {
            for _ in 0..<3 {
                let error = #expect(throws: SinkError.self) { try sink.put("a\n") }
                #expect(error?.reason == .readerGone)
                #expect(error?.description == "cannot write to out: its reader is gone")
            }
            var pending = sigset_t()
            sigpending(&pending)
            #expect(sigismember(&pending, SIGPIPE) == 0)
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            #expect(sigismember(&mask, SIGPIPE) == 0)
        }
        try join(thread)
    }

    @Test func `a blocked and pending signal of the host stays pending`() throws {
        let ends = try Ends()
        let sink = try DescriptorSink(descriptor: ends.writer, name: "out")
        ends.closeReader()
        let thread = Thread {
            var set = sigset_t()
            sigemptyset(&set)
            sigaddset(&set, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &set, nil)
            pthread_kill(pthread_self(), SIGPIPE)
            #expect(throws: SinkError.self) { try sink.put("a\n") }
            var pending = sigset_t()
            sigpending(&pending)
            #expect(sigismember(&pending, SIGPIPE) == 1)
            var noWait = timespec()
            sigtimedwait(&set, nil, &noWait)
        }
        try join(thread)
    }

    private func join(_ thread: Thread) throws {
        thread.start()
        try #require(eventually { thread.isFinished })
    }

    @Test(arguments: [true, false]) func `a slow reader gets every line complete`(opensAgain: Bool) throws {
        let ends = try Ends()
        let sink = try DescriptorSink(descriptor: ends.writer, name: "out", timeout: .seconds(60), opensAgain: opensAgain)
        ends.closeWriter()
        let lines = (0..<40).map { line(Character(Unicode.Scalar(UInt8(97 + $0 % 26))), 3000 + $0 * 100) }
        let thread = Thread {
            for line in lines { #expect(throws: Never.self) { try sink.put(line) } }
            sink.close()
        }
        thread.start()
        #expect(ends.readToEnd() == lines.joined())
        #expect(sink.takeAbandonedLines() == 0)
    }

    @Test func `a line that does not fit is refused completely`() throws {
        let ends = try Ends()
        let sink = try DescriptorSink(descriptor: ends.writer, name: "out", timeout: .milliseconds(20))
        try sink.put(line("a", ends.limit))
        #expect(throws: SinkError(.tooSlow, path: "out")) { try sink.put("b\n") }
        #expect(ends.read() == line("a", ends.limit))
        try sink.put("c\n")
        #expect(ends.read() == "c\n")
    }

    @Test(arguments: [true, false]) func `a line that began is finished before the next`(opensAgain: Bool) throws {
        let ends = try Ends()
        let sink = try DescriptorSink(
            descriptor: ends.writer,
            name: "out",
            timeout: .milliseconds(20),
            opensAgain: opensAgain
        )
        let long = line("a", ends.limit + 1000)
        try sink.put(long)
        #expect(throws: SinkError(.tooSlow, path: "out")) { try sink.put("b\n") }
        let head = ends.read()
        try sink.put("c\n")
        #expect(head + ends.read() == long + "c\n")
        #expect(sink.takeAbandonedLines() == 0)
    }

    @Test func `a line that began and could not be finished is counted`() throws {
        let ends = try Ends()
        let sink = try DescriptorSink(descriptor: ends.writer, name: "out", timeout: .milliseconds(20))
        try sink.put(line("a", ends.limit + 1000))
        sink.close()
        #expect(sink.takeAbandonedLines() == 1)
        #expect(sink.takeAbandonedLines() == 0)
    }

    @Test func `the shutdown deadline ends a long wait`() throws {
        let ends = try Ends()
        let sink = try DescriptorSink(descriptor: ends.writer, name: "out", timeout: .seconds(3600))
        try sink.put(line("a", ends.limit))
        let thread = Thread { #expect(throws: SinkError(.tooSlow, path: "out")) { try sink.put("b\n") } }
        thread.start()
        usleep(50_000)
        sink.limitWaiting(until: MonotonicTime(nanoseconds: 0))
        #expect(eventually(seconds: 60) { thread.isFinished })
        sink.close()
    }

    @Test func `a regular file keeps the offset of its descriptor`() throws {
        let scratch = try ScratchDirectory()
        let descriptor = open(scratch.path + "/log", O_WRONLY | O_CREAT, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(write(descriptor, "host\n", 5) == 5)
        try DescriptorSink(descriptor: descriptor, name: "out").put("ours\n")
        try #require(write(descriptor, "host\n", 5) == 5)
        #expect(try scratch.text("log") == "host\nours\nhost\n")
    }

    @Test func `a full device is an error`() throws {
        let descriptor = open("/dev/full", O_WRONLY)
        defer { close(descriptor) }
        let sink = try DescriptorSink(descriptor: descriptor, name: "stdout")
        #expect(throws: SinkError(.writeFailed, path: "stdout", code: ENOSPC)) { try sink.put("a\n") }
    }

    @Test func `a descriptor that is not open for writing is refused`() throws {
        #expect(throws: SinkError(.cannotOpen, path: "out", code: EBADF)) { try DescriptorSink(descriptor: -1, name: "out") }
        let ends = try Ends()
        #expect(throws: SinkError(.cannotOpen, path: "out", code: EBADF)) {
            try DescriptorSink(descriptor: ends.reader, name: "out")
        }
    }

    @Test func `a closed sink refuses lines`() throws {
        let ends = try Ends()
        let sink = try DescriptorSink(descriptor: ends.writer, name: "out")
        sink.close()
        sink.close()
        #expect(throws: SinkError(.closed, path: "out")) { try sink.put("a\n") }
    }
}
