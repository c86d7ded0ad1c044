import Foundation
import Glibc
import LagMonitorDelivery
import TestSupport
import Testing

@testable import LagOutput

/// Requirements of log readers, one per test, as far as no other suite tests them.
struct ReaderDemandTests {
    private let now = OutputTime(realtimeNanoseconds: Sample.start, monotonicNanoseconds: 5_000_000)

    private func output(_ sink: any RecordSink) -> RecordOutput {
        RecordOutput(encoder: RecordEncoder(context: Sample.context), sink: sink)
    }

    /// The number of write system calls of this thread, counted by the kernel.
    private func writes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("syscw") })
        return try #require(Int(line.split(separator: " ")[1]))
    }

    /// rsyslog 8096, Docker 16 KiB, Fluent Bit 32 KiB, journald 49152, syslog-ng 65536, Vector 100 KiB.
    @Test(arguments: [8096, 16_384, 32_768, 49_152, 65_536, 102_400])
    func `a line of default size is shorter than the limits of log readers`(limit: Int) throws {
        #expect(try Sample.line(Sample.extremeRecord(), context: Sample.extremeContext).utf8.count < limit)
    }

    @Test(arguments: [200, 7999, 100_000]) func `a line is written to a file with one system call`(bytes: Int) throws {
        let scratch = try ScratchDirectory()
        let sink = try FileSink(path: scratch.path + "/log")
        let line = String(repeating: "a", count: bytes - 1) + "\n"
        let before = try writes()
        try sink.put(line)
        #expect(try writes() - before == 1)
        #expect(try scratch.text("log") == line)
    }

    @Test func `a line is sent to a socket with one system call`() throws {
        var ends: [Int32] = [-1, -1]
        // Packets keep their boundaries: two sends would be two packets.
        try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let sink = try DescriptorSink(descriptor: ends[1], name: "socket")
        let line = String(repeating: "a", count: 7999) + "\n"
        try sink.put(line)
        var buffer = [UInt8](repeating: 0, count: 20_000)
        #expect(recv(ends[0], &buffer, buffer.count, 0) == line.utf8.count)
    }

    /// Two programs that write, or one that truncates the file, overwrite no lines.
    @Test func `the file is opened in append mode`() throws {
        let scratch = try ScratchDirectory()
        let sink = try FileSink(path: scratch.path + "/log")
        let links = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == scratch.path + "/log"
        }
        let descriptor = try #require(links.first.flatMap { Int32($0) })
        #expect(fcntl(descriptor, F_GETFL) & O_APPEND != 0)
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        sink.close()
    }

    @Test func `lines lost on a full disk are reported when there is space again`() async {
        await #expect(processExitsWith: .success) {
            let scratch = try ScratchDirectory()
            signal(SIGXFSZ, SIG_IGN)
            let sink = try FileSink(path: scratch.path + "/log")
            var output = RecordOutput(encoder: RecordEncoder(context: Sample.context), sink: sink)
            let now = OutputTime(realtimeNanoseconds: Sample.start, monotonicNanoseconds: 5_000_000)
            try output.write(Sample.record(), now: now)
            var limit = rlimit()
            try #require(getrlimit(__rlimit_resource_t(1), &limit) == 0)
            let size = try scratch.text("log").utf8.count
            limit.rlim_cur = rlim_t(size)
            try #require(setrlimit(__rlimit_resource_t(1), &limit) == 0)
            for _ in 0..<3 { #expect(throws: SinkError.self) { try output.write(Sample.record(), now: now) } }
            limit.rlim_cur = limit.rlim_max
            try #require(setrlimit(__rlimit_resource_t(1), &limit) == 0)
            // The loss is reported when it is due although no record follows.
            let soon = OutputTime(realtimeNanoseconds: Sample.start, monotonicNanoseconds: 500_000_000)
            #expect(output.retryAnnouncement(now: soon) > soon.monotonicNanoseconds)
            let later = OutputTime(realtimeNanoseconds: Sample.start, monotonicNanoseconds: 60_000_000_000)
            #expect(output.retryAnnouncement(now: later) == .max)
            let lines = try scratch.text("log").split(separator: "\n").map { try Sample.parse(String($0)) }
            #expect(lines.map { $0["event"] as? String } == ["stall", "dropped"])
            #expect(lines[1]["dropped"] as? Int == 3 && lines[1]["reason"] as? String == "sink_failed")
        }
    }

    @Test func `a line lost on a full device is counted`() throws {
        var output = output(try FileSink(path: "/dev/full"))
        #expect(throws: SinkError(.writeFailed, path: "/dev/full", code: ENOSPC)) { try output.write(Sample.record(), now: now) }
        #expect(output.droppedTotal == 1 && output.unannounced == 1)
    }

    /// The directory is removed with the file between two lines, and created again.
    @Test func `a removed directory that is created again gets the file again`() throws {
        let scratch = try ScratchDirectory()
        let directory = scratch.path + "/d"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let sink = try FileSink(path: directory + "/log")
        var output = output(sink)
        try output.write(Sample.record(), now: now)
        try FileManager.default.removeItem(atPath: directory)
        // The only place would be the open file without a name, where the line would not be found.
        #expect(throws: SinkError.self) { try output.write(Sample.record(), now: now) }
        #expect(output.droppedTotal == 1)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try output.write(Sample.record(), now: now)
        let events = try scratch.text("d/log").split(separator: "\n").map { try Sample.parse(String($0))["event"] as? String }
        #expect(events.count { $0 == "stall" } == 1, "\(events)")
    }

    /// Root cannot lose the permission, so the test runs as another user in its own process.
    @Test(.enabled(if: geteuid() == 0)) func `after losing the permission, lines go to the open file`() async {
        await #expect(processExitsWith: .success) {
            let scratch = try ScratchDirectory()
            try #require(chmod(scratch.path, 0o777) == 0)
            let path = scratch.path + "/log"
            try #require(seteuid(65_534) == 0)
            let sink = try FileSink(path: path)
            var output = RecordOutput(encoder: RecordEncoder(context: Sample.context), sink: sink)
            let now = OutputTime(realtimeNanoseconds: Sample.start, monotonicNanoseconds: 5_000_000)
            try output.write(Sample.record(), now: now)
            // Files can no longer be created here, and the old one is renamed.
            try #require(seteuid(0) == 0)
            try #require(chmod(scratch.path, 0o755) == 0 && rename(path, path + ".1") == 0)
            try #require(seteuid(65_534) == 0)
            try output.write(Sample.record(), now: now)
            #expect(throws: SinkError(.cannotOpen, path: path, code: EACCES)) { try sink.reopen() }
            try #require(seteuid(0) == 0)
            #expect(try scratch.text("log.1").split(separator: "\n").count == 2, "nothing is lost")
        }
    }

    @Test func `losses are announced again at growing intervals`() throws {
        let sink = MemorySink()
        var output = output(sink)
        sink.fail(with: SinkError(.writeFailed, path: "memory", code: ENOSPC))
        #expect(throws: SinkError.self) { try output.write(Sample.record(), now: now) }
        var time = now
        var waits: [UInt64] = []
        for _ in 0..<8 {
            let next = output.retryAnnouncement(now: time)
            waits.append((next - time.monotonicNanoseconds) / 1_000_000_000)
            time.monotonicNanoseconds = next
        }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30, 30])
        sink.fail(with: nil)
        #expect(output.retryAnnouncement(now: time) == .max && sink.lines.count == 1)
        #expect(output.retryAnnouncement(now: time) == .max && sink.lines.count == 1, "once")
    }

    /// A sink that finds out only on close which line it could not write.
    @Test func `a line that is given up on close is counted`() throws {
        let scratch = try ScratchDirectory()
        try #require(mkfifo(scratch.path + "/pipe", 0o600) == 0)
        let reader = open(scratch.path + "/pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        try #require(fcntl(reader, 1031, 4096) == 4096)
        var output = output(try FileSink(path: scratch.path + "/pipe", timeout: .milliseconds(20)))
        try output.write(Sample.record(frames: 100), now: now)
        #expect(output.droppedTotal == 0)
        output.close()
        #expect(output.droppedTotal == 1)
    }

    @Test func `each sink has its own format`() throws {
        let memory = MemorySink()
        let sink = FormattedSink(memory, .ecs)
        #expect(sink.format == .ecs && memory.format == nil && sink.name == "memory")
        #expect(FormattedSink(FormattedSink(memory, .otlp), .ecs).format == .otlp, "the only one that it understands")
        sink.close()
        #expect(memory.isClosed)
    }
}
