import Foundation
import Glibc
import LagMonitorDelivery
import Synchronization
import TestSupport
import Testing

@testable import LagOutput

/// Accepts `capacity` lines and then refuses all.
private final class FillingSink: RecordSink {
    let name = "filling"
    private let capacity: Int
    private let count = Atomic(0)

    init(capacity: Int) { self.capacity = capacity }

    var attempts: Int { count.load(ordering: .relaxed) }

    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        guard count.add(1, ordering: .relaxed).newValue <= capacity else { throw SinkError(.tooSlow, path: name) }
    }

    func close() {}
}

/// The stalls in progress that remain when the process dies, and how they are recovered.
struct UnfinishedFileTests {
    private static let boot = Sample.context.bootID
    private let scratch: ScratchDirectory
    private var path: String { scratch.path + "/u" }
    private let halfCapacity = UnfinishedFile.halfCapacity(maxLineBytes: 8000)

    init() throws { scratch = try ScratchDirectory() }

    private func stall(_ number: UInt64, _ formats: [RecordFormat] = [.native]) -> UnfinishedStall {
        var record = Sample.record()
        record.id = StallID(startRealtimeNanoseconds: Sample.start, randomHigh: 0, randomLow: number)
        record.phase = .abandoned
        let lines = formats.map { ($0, Array("{\"n\":\(number),\"format\":\"\($0.name)\"}\n".utf8)) }
        return UnfinishedStall(facts: LineFacts(record), lines: Dictionary(uniqueKeysWithValues: lines))
    }

    private func expect(
        _ file: inout UnfinishedFile,
        keeps stalls: [UnfinishedStall],
        _ all: Bool = true,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let kept = file.keep(stalls)
        #expect(kept == all, sourceLocation: location)
    }

    private func file(maxLineBytes: Int = 8000) -> UnfinishedFile {
        UnfinishedFile(UnfinishedPath(path), bootID: Self.boot, maxLineBytes: maxLineBytes)
    }

    private func remains(now: Int = time(nil)) -> RecoveredStalls {
        RecoveredStalls(at: UnfinishedPath(path), bootID: Self.boot, now: now)
    }

    /// Writes a file as a dead process leaves it: the bytes without the lock.
    private func leave(_ stalls: [[UnfinishedStall]]) throws {
        var file = file()
        for stalls in stalls { expect(&file, keeps: stalls) }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        file.close()
        try bytes.write(to: URL(fileURLWithPath: path))
    }

    private func change(at offset: Int, _ body: (inout UInt8) -> Void) throws {
        let url = URL(fileURLWithPath: path)
        var bytes = try [UInt8](Data(contentsOf: url))
        body(&bytes[offset])
        try Data(bytes).write(to: url)
    }

    @Test func `kept stalls are found and the file is removed`() throws {
        let kept = [stall(1, RecordFormat.all), stall(2)]
        try leave([[stall(1)], kept])
        let remains = remains()
        #expect(remains.stalls == kept && remains.refused == 0)
        remains.remove()
        #expect(try scratch.names() == [])
    }

    private let now = OutputTime(realtimeNanoseconds: Sample.start, monotonicNanoseconds: 5_000_000)

    private func output(_ sink: any RecordSink) -> RecordOutput {
        RecordOutput(encoder: RecordEncoder(context: Sample.context), sink: sink)
    }

    /// A file is removed if all its stalls were written; a file with an unwritten stall is kept for the next start.
    @Test func `stalls that could not be written stay in their file`() throws {
        try leave([[stall(3), stall(4)]])
        rename(path, path + ".1")
        try leave([[stall(1), stall(2)]])
        let full = FillingSink(capacity: 3)
        var outputs = [output(full)]
        #expect(remains().report(to: &outputs, now: now) == 3)
        #expect(full.attempts == 4)
        #expect(try scratch.names() == ["u.1"])
        let sink = MemorySink()
        outputs = [output(sink)]
        #expect(remains().report(to: &outputs, now: now) == 2)
        #expect(sink.lines.count == 2)
        #expect(try scratch.names() == [])
    }

    /// Each attempt may wait.
    @Test func `an output that fails is tried only once`() throws {
        try leave([[stall(1), stall(2), stall(3)]])
        let full = FillingSink(capacity: 0)
        var outputs = [output(full)]
        #expect(remains().report(to: &outputs, now: now) == 0)
        #expect(full.attempts == 1 && outputs[0].droppedTotal == 0)
        #expect(try scratch.names() == ["u"])
    }

    @Test func `stalls that only one of two outputs refused are counted there`() throws {
        try leave([[stall(1), stall(2), stall(3)]])
        let sink = MemorySink()
        var outputs = [output(FillingSink(capacity: 1)), output(sink)]
        #expect(remains().report(to: &outputs, now: now) == 1)
        #expect(outputs.map(\.droppedTotal) == [2, 0] && outputs[0].unannounced == 2)
        #expect(sink.lines.count == 3)
        #expect(try scratch.names() == [])
    }

    @Test func `no file exists without a stall`() throws {
        var file = file()
        expect(&file, keeps: [])
        #expect(try scratch.names() == [])
        expect(&file, keeps: [stall(1)])
        #expect(try scratch.names() == ["u"])
        file.close()
        #expect(try scratch.names() == [])
    }

    @Test func `a stall that has ended is not found`() throws {
        try leave([[stall(1)], []])
        let remains = remains()
        #expect(remains.stalls.isEmpty && remains.refused == 0)
    }

    /// If the process is killed during a write, the previous content is valid.
    @Test func `a torn write leaves the previous stalls readable`() throws {
        try leave([[stall(1)], [stall(2)]])
        try change(at: UnfinishedLayout.offset(ofHalf: 0, halfCapacity: halfCapacity) + 20) { $0 ^= 1 }
        #expect(remains().stalls == [stall(1)])
    }

    @Test func `a completely torn file is refused and counted`() throws {
        try leave([[stall(1)]])
        try change(at: UnfinishedLayout.offset(ofHalf: 1, halfCapacity: halfCapacity) + 20) { $0 ^= 1 }
        let remains = remains()
        #expect(remains.stalls.isEmpty && remains.refused == 1)
        remains.remove()
        #expect(try scratch.names() == [])
    }

    /// With any damaged byte, either nothing is read, or exactly what was written.
    @Test func `damaged content is never read as another stall`() throws {
        try leave([[stall(1)]])
        let url = URL(fileURLWithPath: path)
        let whole = try [UInt8](Data(contentsOf: url))
        let begin = UnfinishedLayout.offset(ofHalf: 1, halfCapacity: halfCapacity)
        for offset in Array(0..<256) + Array(begin..<whole.count) {
            var bytes = whole
            bytes[offset] ^= 0x40
            if case .success(let content) = UnfinishedLayout.read(bytes) {
                #expect(content.stalls.isEmpty || content.stalls == [stall(1)], "byte \(offset)")
            }
        }
        for length in stride(from: 0, to: whole.count, by: 13) {
            if case .success(let content) = UnfinishedLayout.read(Array(whole[..<length])) {
                #expect(content.stalls.isEmpty, "\(length) bytes")
            }
        }
    }

    @Test func `a file of another version is refused and counted`() throws {
        try leave([[stall(1)]])
        try change(at: 8) { $0 += 1 }
        #expect(remains().refused == 1)
    }

    @Test func `a file older than a week is refused and counted`() throws {
        try leave([[stall(1)]])
        #expect(remains(now: time(nil) + RecoveredStalls.maximumAgeSeconds - 100).stalls.count == 1)
        let remains = remains(now: time(nil) + RecoveredStalls.maximumAgeSeconds + 100)
        #expect(remains.stalls.isEmpty && remains.refused == 1)
    }

    @Test func `files of another kind are not changed`() throws {
        let text = String(repeating: "my own notes\n", count: 1000)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        symlink(path, path + ".1")
        mkfifo(path + ".2", 0o600)
        mkdir(path + ".3", 0o700)
        let remains = remains()
        #expect(remains.stalls.isEmpty && remains.refused == 0)
        remains.remove()
        var file = file()
        expect(&file, keeps: [stall(1)])
        #expect(try scratch.names() == ["u", "u.1", "u.2", "u.3", "u.4"])
        #expect(try scratch.text("u") == text)
    }

    @Test(.enabled(if: geteuid() == 0, "needs another user's file")) func `a file of another user is not changed`() throws {
        try leave([[stall(1)]])
        chown(path, 65_534, 65_534)
        let remains = remains()
        #expect(remains.stalls.isEmpty && remains.refused == 0)
        remains.remove()
        #expect(try scratch.names() == ["u"])
    }

    /// Two processes with the same log: each has its own file, and neither recovers the file of the other.
    @Test func `the file of a running process is not touched`() throws {
        var first = file()
        expect(&first, keeps: [stall(1)])
        let found = remains()
        #expect(found.stalls.isEmpty && found.refused == 0)
        var second = file()
        expect(&second, keeps: [stall(2)])
        #expect(try scratch.names() == ["u", "u.1"])
        first.close()
        second.close()
        #expect(try scratch.names() == [])
    }

    /// Children that the dead process forked inherit its lock.
    @Test func `a lock inherited by children of the dead process does not hide the file`() throws {
        try leave([[stall(1)]])
        let held = open(path, O_RDWR | O_CLOEXEC)
        defer { close(held) }
        #expect(flock(held, LOCK_EX) == 0)
        #expect(remains().stalls.isEmpty, "this process wrote it and is alive")
        // The same PID with another start time.
        try change(at: 16) { $0 ^= 1 }
        #expect(remains().stalls == [stall(1)])
    }

    /// With mapped memory this would kill the process.
    @Test func `truncating or removing the file from outside causes no failure`() throws {
        var file = file()
        expect(&file, keeps: [stall(1)])
        truncate(path, 0)
        expect(&file, keeps: [stall(1), stall(2)])
        unlink(path)
        expect(&file, keeps: [stall(2)])
        unlink(path)
        try Data("somebody else's\n".utf8).write(to: URL(fileURLWithPath: path))
        file.close()
        #expect(try scratch.text("u") == "somebody else's\n")
    }

    @Test func `stalls that do not fit into the file are omitted`() throws {
        var file = file(maxLineBytes: 1024)
        let long = (0..<100).map { stall($0, RecordFormat.all) }.map { stall in
            UnfinishedStall(facts: stall.facts, lines: stall.lines.mapValues { Array(repeating: 32, count: 1000) + $0 })
        }
        expect(&file, keeps: long, false)
        let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
        guard case .success(let content) = UnfinishedLayout.read(bytes) else { throw CocoaError(.fileReadCorruptFile) }
        #expect(content.stalls.count > 10 && content.stalls == Array(long.prefix(content.stalls.count)))
    }

    @Test func `nothing is kept in a folder that does not exist`() throws {
        var file = UnfinishedFile(UnfinishedPath("/nonexistent/u"), bootID: Self.boot, maxLineBytes: 8000)
        expect(&file, keeps: [stall(1)], false)
    }

    @Test(arguments: [
        ("stalls.jsonl", ".stalls.jsonl.unfinished", "."), ("/stalls", "/.stalls.unfinished", "/"),
        ("/var/log/s.jsonl", "/var/log/.s.jsonl.unfinished", "/var/log"),
    ])
    func `the file beside a log has a hidden name`(log: String, path: String, folder: String) {
        #expect(UnfinishedPath(besideLog: log).path == path && UnfinishedPath(besideLog: log).folder == folder)
    }

    @Test func `a folder and the output file are refused`() throws {
        let log = scratch.path + "/log"
        #expect(FileManager.default.createFile(atPath: log, contents: nil))
        try FileManager.default.createSymbolicLink(atPath: scratch.path + "/link", withDestinationPath: log)
        func obstacle(_ path: String) -> String? { UnfinishedPath(path).obstacle(besides: ["stdout", log]) }
        #expect(obstacle(scratch.path) == "it is a folder")
        #expect(obstacle(log) == "it is the file of the output" && obstacle(scratch.path + "/link") == obstacle(log))
        #expect(obstacle(path) == nil && obstacle("/nonexistent/u") == "No such file or directory")
    }
}
