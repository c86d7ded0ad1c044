internal import Foundation
internal import LagMonitor
internal import TestSupport
internal import Testing

@testable import LagWorkload
@testable internal import lagmond

@Suite struct TruthLogTests {
    private struct Line: Decodable {
        let kind: String
        let begin: UInt64
        let end: UInt64
        let function: String

        enum CodingKeys: String, CodingKey {
            case kind, function
            case begin = "begin_mono_us"
            case end = "end_mono_us"
        }
    }

    private func lines(_ text: String) throws -> [Line] {
        try text.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    @Test func `a truth log line contains kind, times and function`() {
        let line = TruthLog.line(kind: .cpu, begin: .init(nanoseconds: 1_234_567), end: .init(nanoseconds: 9_999_999_999))
        #expect(line == #"{"kind":"cpu","begin_mono_us":1234,"end_mono_us":9999999,"function":"computeUntil"}"# + "\n")
    }

    @Test func `every kind creates a truth log line in JSON`() throws {
        for kind in WorkloadKind.allCases {
            let line = try lines(TruthLog.line(kind: kind, begin: .now, end: .now))[0]
            #expect(line.kind == kind.rawValue)
            #expect(line.function == kind.functionName)
        }
        #expect(Set(WorkloadKind.allCases.map(\.functionName)).count == WorkloadKind.allCases.count)
    }

    @Test func `an execution that has begun is written exactly once`() throws {
        try ScratchDirectory.with { directory in
            let log = try TruthLog(path: directory.file("t"))
            log.finish()
            let before = MonotonicTime.now
            log.begin(.sleep)
            log.finish()
            log.finish()
            let written = try lines(directory.read("t"))
            #expect(written.map(\.kind) == ["sleep"])
            #expect(written[0].begin >= before.nanoseconds / 1000)
            #expect(written[0].end >= written[0].begin)
        }
    }

    @Test func `after reopening, lines are written to the new file`() throws {
        try ScratchDirectory.with { directory in
            let log = try TruthLog(path: directory.file("t"))
            log.begin(.cpu)
            log.finish()
            try FileManager.default.moveItem(atPath: directory.file("t"), toPath: directory.file("t.1"))
            log.reopen()
            log.begin(.io)
            log.finish()
            #expect(try lines(directory.read("t.1")).map(\.kind) == ["cpu"])
            #expect(try lines(directory.read("t")).map(\.kind) == ["io"])
        }
    }

    @Test func `a file that cannot be opened is reported with path and reason`() {
        let failure = #expect(throws: WorkloadError.self) { try TruthLog(path: "/nowhere/t") }
        #expect(failure?.description == "truth: cannot open /nowhere/t: No such file or directory (errno 2)")
    }
}
