internal import CLagLinux
import Foundation
import Glibc
import TestSupport
import Testing

@testable import LagMonitorDelivery
@testable import LagOutput

/// A journal for tests: reads entries of the native protocol, from datagrams and from memory files.
private final class FakeJournal {
    let path: String
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        descriptor = try #require(boundUnixSocket(path, SOCK_DGRAM))
    }

    deinit { close(descriptor) }

    struct Entry {
        var fields: [String: String] = [:]
        /// Whether it was sent as a sealed memory file.
        var isMemory = false
        var seals: Int32 = 0
    }

    /// The next entry; nil if none is available now.
    func next() throws -> Entry? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 0) > 0 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 1 << 21)
        var memory: Int32 = -1
        let count = cll_receive_descriptor(descriptor, &buffer, buffer.count, &memory)
        try #require(count >= 0)
        guard memory >= 0 else { return Entry(fields: try Self.decode(buffer[..<count])) }
        defer { close(memory) }
        try #require(count == 0)
        // F_GET_SEALS.
        let seals = fcntl(memory, 1034)
        let size = pread(memory, &buffer, buffer.count, 0)
        return Entry(fields: try Self.decode(buffer[..<size]), isMemory: true, seals: seals)
    }

    private static func decode(_ bytes: ArraySlice<UInt8>) throws -> [String: String] {
        var fields: [String: String] = [:]
        var rest = bytes
        while !rest.isEmpty {
            let end = try #require(rest.firstIndex(of: 10))
            let head = rest[rest.startIndex..<end]
            rest = rest[(end + 1)...]
            if let equals = head.firstIndex(of: UInt8(ascii: "=")) {
                let name = String(decoding: head[..<equals], as: UTF8.self)
                try #require(fields[name] == nil)
                fields[name] = String(decoding: head[(equals + 1)...], as: UTF8.self)
            } else {
                let count = rest.prefix(8).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
                let value = rest.dropFirst(8).prefix(count)
                try #require(value.count == count && rest.dropFirst(8 + count).first == 10)
                fields[String(decoding: head, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
                rest = rest.dropFirst(9 + count)
            }
        }
        return fields
    }
}

struct JournalSinkTests {
    private let scratch: ScratchDirectory
    private var path: String { scratch.path + "/socket" }

    init() throws { scratch = try ScratchDirectory() }

    private let now = OutputTime(realtimeNanoseconds: Sample.start, monotonicNanoseconds: 5_000_000)

    private func output(_ sink: JournalSink, limit: Int = 8000) throws -> RecordOutput {
        let limits = try LineLimits(maxLineBytes: limit)
        return RecordOutput(encoder: RecordEncoder(context: Sample.context, limits: limits), sink: sink)
    }

    @Test func `a record becomes a journal entry with fields`() throws {
        let journal = try FakeJournal(path)
        var output = try output(JournalSink(path: journal.path, identifier: "shop"))
        var record = Sample.record()
        record.culprit = "Shop.render"
        record.severity = .error
        try output.write(record, now: now)
        let entry = try #require(try journal.next())
        let line = try Sample.line(record)
        #expect(!entry.isMemory)
        #expect(
            entry.fields == [
                "MESSAGE": "main stood still for 250 ms", "PRIORITY": "3", "SYSLOG_IDENTIFIER": "shop",
                "LAGMONITOR_EVENT": "stall",
                "LAGMONITOR_ID": record.id.description, "LAGMONITOR_PHASE": "end", "LAGMONITOR_KIND": "callout",
                "LAGMONITOR_CAUSE": "unknown", "LAGMONITOR_LOOP": "main", "LAGMONITOR_THREAD_ID": "4242",
                "LAGMONITOR_DURATION_MS": "250", "LAGMONITOR_FINGERPRINT": "v1:0123456789abcdef",
                "LAGMONITOR_CULPRIT": "Shop.render", "LAGMONITOR_RECORD": String(line.dropLast()),
            ]
        )
        #expect(try journal.next() == nil)
    }

    @Test(arguments: [(StallRecord.Severity.warning, "4"), (.error, "3"), (.critical, "2")])
    func `severities are mapped to syslog priorities`(severity: StallRecord.Severity, priority: String) throws {
        let journal = try FakeJournal(path)
        var output = try output(JournalSink(path: journal.path))
        var record = Sample.record()
        record.severity = severity
        try output.write(record, now: now)
        #expect(try journal.next()?.fields["PRIORITY"] == priority)
    }

    /// Otherwise a newline in a value would begin another field with content that the stalled program chooses.
    @Test func `a value with a newline remains one value`() throws {
        let journal = try FakeJournal(path)
        var output = try output(JournalSink(path: journal.path))
        var record = Sample.record()
        record.loop = "main\nPRIORITY=0"
        record.message = "two\nlines"
        try output.write(record, now: now)
        let entry = try #require(try journal.next())
        #expect(entry.fields["LAGMONITOR_LOOP"] == record.loop && entry.fields["MESSAGE"] == "two\nlines")
        #expect(entry.fields["PRIORITY"] == "4")
    }

    @Test func `an entry larger than a datagram is sent as a sealed memory file`() throws {
        let journal = try FakeJournal(path)
        var output = try output(JournalSink(path: journal.path), limit: 1_048_576)
        let record = Sample.record(frames: 4000)
        try output.write(record, now: now)
        let entry = try #require(try journal.next())
        #expect(entry.isMemory)
        // Shrink, grow, write, and the seals themselves.
        #expect(entry.seals & 0xf == 0xf)
        #expect(entry.fields["LAGMONITOR_RECORD"] == String(try Sample.line(record, limit: 1_048_576).dropLast()))
        #expect(entry.fields["MESSAGE"] == record.message)
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        #expect(!open.contains { $0.contains("lagmonitor-line") }, "the sender's descriptor is closed")
    }

    @Test func `a notice becomes a journal entry`() throws {
        let journal = try FakeJournal(path)
        var output = try output(JournalSink(path: journal.path))
        output.countDropped(2, reason: .queueFull)
        try output.announce(now: now)
        let fields = try #require(try journal.next()).fields
        #expect(fields["LAGMONITOR_EVENT"] == "dropped" && fields["MESSAGE"]?.hasPrefix("2 records lost") == true)
        #expect(fields["LAGMONITOR_ID"] == nil)
    }

    @Test func `the sink reconnects to a restarted journal`() throws {
        var journal: FakeJournal? = try FakeJournal(path)
        let sink = try JournalSink(path: path)
        try sink.put("one\n")
        #expect(try journal?.next()?.fields["MESSAGE"] == "one")
        journal = nil
        #expect(throws: SinkError.self) { try sink.put("two\n") }
        unlink(path)
        #expect(throws: SinkError(.cannotOpen, path: sink.name, code: ENOENT)) { try sink.put("two\n") }
        let second = try FakeJournal(path)
        try sink.put("three\n")
        #expect(try second.next()?.fields["MESSAGE"] == "three")
        unlink(path)
        let third = try FakeJournal(path)
        try sink.reopen()
        try sink.put("four\n")
        #expect(try third.next()?.fields["MESSAGE"] == "four")
    }

    @Test func `a slow journal is an error and later lines arrive`() throws {
        let journal = try FakeJournal(path)
        let sink = try JournalSink(path: journal.path, timeout: .milliseconds(20))
        var taken = 0
        var failure: SinkError?
        while failure == nil, taken < 100_000 {
            do throws(SinkError) {
                try sink.put("line \(taken)\n")
                taken += 1
            } catch { failure = error }
        }
        #expect(failure == SinkError(.tooSlow, path: sink.name))
        for number in 0..<taken { #expect(try journal.next()?.fields["MESSAGE"] == "line \(number)") }
        try sink.put("after\n")
        #expect(try journal.next()?.fields["MESSAGE"] == "after")
        #expect(try journal.next() == nil)
    }

    @Test func `a missing journal is an error immediately`() throws {
        let path = scratch.path + "/none"
        let error = #expect(throws: SinkError.self) { try JournalSink(path: path) }
        #expect(error?.description == "cannot open journald:\(path): No such file or directory (errno 2)")
        let long = String(repeating: "x", count: 108)
        #expect(throws: SinkError(.cannotOpen, path: "journald:\(long)", code: ENAMETOOLONG)) { try JournalSink(path: long) }
    }

    @Test func `a closed sink refuses lines until it is resumed`() throws {
        let journal = try FakeJournal(path)
        let sink = try JournalSink(path: journal.path)
        sink.close()
        #expect(throws: SinkError(.closed, path: sink.name)) { try sink.put("a\n") }
        try sink.resume()
        try sink.put("b\n")
        #expect(try journal.next()?.fields["MESSAGE"] == "b")
    }
}
