import Foundation
import Glibc
import LagOutput
import Synchronization
import TestSupport
import Testing

@testable import LagMonitorDelivery
@testable import LagOutput

/// A destination whose failures the test controls.
private final class Collector: RecordSink {
    private struct State {
        var taken: [String] = []
        var failure: SinkError?
    }

    let name: String
    private let state = Mutex(State())

    init(_ name: String = "tcp:collector:1") { self.name = name }

    var taken: [String] { state.withLock { $0.taken } }

    func fail(_ failure: SinkError.Reason?, code: Int32 = 0) {
        state.withLock { $0.failure = failure.map { SinkError($0, path: name, code: code) } }
    }

    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        let failure = state.withLock { state in
            if state.failure == nil { state.taken.append(String(decoding: line, as: UTF8.self)) }
            return state.failure
        }
        if let failure { throw failure }
    }

    func close() {}
}

final class ManualClock: Sendable {
    private let nanoseconds = Atomic<UInt64>(1_000_000_000)
    var now: UInt64 { nanoseconds.load(ordering: .relaxed) }
    func advance(_ seconds: UInt64) { nanoseconds.add(seconds * 1_000_000_000, ordering: .relaxed) }
}

struct SpooledSinkTests {
    let folder: ScratchDirectory
    let clock = ManualClock()

    init() throws { folder = try ScratchDirectory() }

    func sink(_ collector: some RecordSink, maxBytes: Int = SpoolSettings.defaultBytes) throws -> SpooledSink {
        try SpooledSink(collector, SpoolSettings(folder: folder.path, maxBytes: maxBytes)) { [clock] in clock.now }
    }

    /// What a process without a reader leaves.
    private func leave(_ numbers: ClosedRange<Int>, for collector: Collector = Collector()) throws -> SpooledSink {
        collector.fail(.readerGone)
        let sink = try sink(collector)
        for number in numbers { try sink.put(line(number)) }
        sink.close()
        return sink
    }

    private func line(_ number: Int) -> String { "{\"schema\":\"x\",\"n\":\(number)}\n" }
    private func late(_ number: Int) -> String { "{\"schema\":\"x\",\"n\":\(number),\"late\":true}\n" }
    var files: [String] { (try? folder.names()) ?? [] }

    @Test func `no spool file exists while the destination accepts lines`() throws {
        let collector = Collector()
        let sink = try sink(collector)
        try sink.put(line(1))
        #expect(collector.taken == [line(1)] && files.isEmpty && sink.unsettledLines == 0 && sink.keptLines == 0)
    }

    @Test(arguments: [SinkError.Reason.readerGone, .tooSlow, .cannotOpen])
    func `lines are kept and sent in order when the destination accepts them again`(reason: SinkError.Reason) throws {
        let collector = Collector()
        let sink = try sink(collector)
        collector.fail(reason)
        for number in 1...3 { try sink.put(line(number)) }
        #expect(sink.keptLines == 3 && sink.unsettledLines == 3 && files.count == 1)
        collector.fail(nil)
        // The destination is tried again after the delay, not with every line.
        try sink.put(line(4))
        #expect(collector.taken.isEmpty)
        clock.advance(11)
        try sink.put(line(5))
        // No kept line is before the last one.
        #expect(collector.taken == (1...4).map(late) + [line(5)])
        #expect(sink.keptLines == 0 && files.isEmpty && sink.takeAbandonedLines() == 0)
    }

    @Test func `kept lines are sent even without a new line`() throws {
        let collector = Collector()
        let sink = try sink(collector)
        collector.fail(.readerGone)
        try sink.put(line(1))
        collector.fail(nil)
        clock.advance(11)
        #expect(sink.takeAbandonedLines() == 0 && collector.taken == [late(1)] && sink.unsettledLines == 0)
    }

    @Test func `the next process sends kept lines before its own`() throws {
        let first = try leave(1...3)
        #expect(first.keptLines == 3 && first.unsettledLines == 3 && first.takeAbandonedLines() == 0)
        let collector = Collector()
        let second = try sink(collector)
        #expect(second.keptLines == 3)
        try second.put(line(4))
        #expect(collector.taken == (1...3).map(late) + [line(4)] && files.isEmpty)
    }

    /// Without a stall, no line is written that could start the sending.
    @Test func `sending kept lines is tried on close`() throws {
        _ = try leave(1...1)
        let collector = Collector()
        let second = try sink(collector)
        second.close()
        #expect(collector.taken == [late(1)] && second.keptLines == 0 && files.isEmpty)
    }

    /// A killed process does not close its spool file.
    @Test func `the spool file of a killed process is used`() throws {
        let gone = Collector()
        gone.fail(.readerGone)
        var first: SpooledSink? = try sink(gone)
        try first?.put(line(1))
        #expect(first?.keptLines == 1)
        first = nil
        let collector = Collector()
        #expect(try sink(collector).takeAbandonedLines() == 0 && collector.taken == [late(1)])
    }

    @Test func `the spool file of another running process is not used`() throws {
        let gone = Collector()
        gone.fail(.readerGone)
        let first = try sink(gone)
        try first.put(line(1))
        let second = try sink(gone)
        #expect(second.keptLines == 0)
        try second.put(line(2))
        #expect(files.count == 2 && first.keptLines == 1 && second.keptLines == 1)
    }

    @Test func `each destination has its own spool file`() throws {
        _ = try leave(1...1, for: Collector("tcp:a:1"))
        #expect(try sink(Collector("tcp:b:1")).keptLines == 0)
    }

    @Test func `lines that do not fit are refused and the kept ones arrive`() throws {
        let collector = Collector()
        let sink = try sink(collector, maxBytes: SpoolSettings.allowedBytes.lowerBound)
        collector.fail(.readerGone)
        let text = String(repeating: "x", count: 1000)
        func long(_ number: Int, _ end: String = "") -> String { "{\"schema\":\"\(text)\",\"n\":\(number)\(end)}\n" }
        var kept = 0
        while (try? sink.put(long(kept))) != nil, kept < 1000 { kept += 1 }
        #expect((60...65).contains(kept))
        let full = SinkError(.tooSlow, path: collector.name, detail: "its spool is full or cannot be written")
        #expect(throws: full) { try sink.put(long(-1)) }
        #expect(full.description == "cannot write to \(collector.name): its spool is full or cannot be written")
        collector.fail(nil)
        clock.advance(11)
        #expect(sink.takeAbandonedLines() == 0)
        #expect(collector.taken == (0..<kept).map { long($0, ",\"late\":true") })
        // The ring buffer continues at its position.
        for round in 0..<3 {
            collector.fail(.readerGone)
            for number in 0..<40 { try sink.put(long(round * 100 + number)) }
            collector.fail(nil)
            clock.advance(11)
            #expect(sink.takeAbandonedLines() == 0 && sink.keptLines == 0)
        }
        #expect(collector.taken.count == kept + 120)
    }

    /// Lines are added while others are sent: head and tail wrap around, and no line is torn or changes its position.
    @Test func `the ring buffer keeps order and content when it wraps around`() throws {
        let path = folder.path + "/ring"
        let file = try SpoolFile.create(path, capacity: 1000)
        var expected: [[UInt8]] = []
        for number in 0..<2000 {
            let line = [UInt8](repeating: UInt8(number % 251), count: number * 7 % 200)
            if file.append(line, isRecord: number % 3 == 0) { expected.append(line) }
            guard number % 2 == 1 || expected.count > 3 else { continue }
            let entry = try #require(try file.entry())
            #expect(entry.line == expected.removeFirst())
            file.remove([entry])
            #expect(file.lines == expected.count)
        }
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_size <= 1000 + 4096 && status.st_mode & 0o777 == 0o600)
    }

    @Test func `a line that can never be sent is counted and the next one is tried`() throws {
        let collector = Collector()
        let sink = try sink(collector)
        collector.fail(.readerGone)
        try sink.put(line(1))
        collector.fail(.writeFailed, code: EINVAL)
        clock.advance(11)
        #expect(sink.takeAbandonedLines() == 1 && sink.keptLines == 0)
        #expect(throws: SinkError(.writeFailed, path: collector.name, code: EINVAL)) { try sink.put(line(2)) }
    }

    @Test(arguments: [0, 8, 16, 40, 64, 72, 128, 4096, 4100, 4104, 4112, 4120])
    func `a damaged spool file loses only counted lines`(offset: Int) throws {
        _ = try leave(1...3)
        let path = folder.path + "/" + (try #require(files.first))
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        try handle.seek(toOffset: UInt64(offset))
        try handle.write(contentsOf: Data(repeating: 0xa5, count: 8))
        try handle.close()
        let collector = Collector()
        let second = try sink(collector)
        #expect(second.takeAbandonedLines() == 0, "this sink accepted no line")
        let lost = second.takeAbandonedNotices().reduce(0 as UInt64) { $0 + ($1.loss?.count ?? 0) }
        #expect(lost + UInt64(collector.taken.count) >= 1 && collector.taken.allSatisfy { (1...3).map(late).contains($0) })
        clock.advance(11)
        try second.put(line(4))
        #expect(collector.taken.last == line(4) && files.isEmpty)
    }

    @Test func `a planted file or link is refused and not changed`() throws {
        let gone = Collector()
        gone.fail(.readerGone)
        let first = try sink(gone)
        try first.put(line(1))
        let path = folder.path + "/" + (try #require(files.first))
        first.close()
        let other = folder.path + "/other"
        try FileManager.default.moveItem(atPath: path, toPath: other)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other)
        #expect(throws: SinkError(.cannotOpen, path: path, code: ELOOP)) { try sink(gone) }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.linkItem(atPath: other, toPath: path)
        #expect(throws: SinkError.self) { try sink(gone) }
        #expect(FileManager.default.fileExists(atPath: other))
    }

    @Test(arguments: [("/nonexistent/spool", "No such file or directory"), ("/dev/null", "Not a directory")])
    func `a folder that cannot be used is an error`(folder: String, reason: String) {
        let error = #expect(throws: SinkError.self) { try SpooledSink(Collector(), SpoolSettings(folder: folder)) }
        #expect(error?.description == "cannot open \(folder): lines cannot be kept in that folder: \(reason)")
    }

    @Test(arguments: RecordFormat.all) func `a late line is a complete line with a mark`(format: RecordFormat) throws {
        var encoder = RecordEncoder(context: Sample.context, format: format)
        for isNotice in [false, true] {
            let notice = Notice.dropped(
                1,
                .queueFull,
                total: 1,
                time: OutputTime(realtimeNanoseconds: 1, monotonicNanoseconds: 1)
            )
            let line = isNotice ? encoder.encode(notice) { Array($0) } : encoder.encode(Sample.record()) { Array($0) }
            let marked = LateField.marked(line)
            #expect(marked.count - line.count <= format.lateField.byteCount && marked.count > line.count)
            let text = String(decoding: marked, as: UTF8.self)
            _ = try Sample.parse(text)
            #expect(text.contains("late") && text.hasSuffix("}\n") && text.split(separator: "\n").count == 1)
        }
        #expect(LateField.marked(Array("no line".utf8)) == Array("no line".utf8))
    }
}
