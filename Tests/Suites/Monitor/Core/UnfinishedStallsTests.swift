import Glibc
import LagOutput
import TestSupport
import Testing

@testable import LagMonitor

/// What is kept of a stall in progress for the case that the process dies in it.
struct UnfinishedStallsTests {
    private static let second: UInt64 = 1_000_000_000

    private func kept(at path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// Its bounds were those of the report, and would be exceeded.
    @Test func `a duration that goes on has no bounds`() throws {
        let path = "/tmp/lagmonitor-unfinished-\(getpid())"
        defer { unlink(path) }
        var record = StallRecord(
            id: StallID(startRealtimeNanoseconds: 1, randomHigh: 2, randomLow: 3),
            startRealtimeNanoseconds: 1,
            startMonotonicNanoseconds: 1,
            durationNanoseconds: 5 * Self.second,
            durationBounds: 5 * Self.second - 50_000_000...5 * Self.second,
            thresholdNanoseconds: 150_000_000,
            phase: .begin,
            kind: .ping,
            loop: "main",
            threadID: 5,
            threadName: "main"
        )
        record.fingerprint = "v1:6648237ade8e460d"
        record.stackHash = "9088f728ab831587"
        let context = ProcessContext.current()
        var outputs = [RecordOutput(encoder: RecordEncoder(context: context), sink: MemorySink())]
        var stalls = UnfinishedStalls(path: path, bootID: context.bootID, maxLineBytes: 8000)
        stalls.keep(record, &outputs, at: Self.second)
        #expect(kept(at: path).contains(#""duration_ms":5000.000,"#), "\(kept(at: path))")
        for quarter in 1...4 as ClosedRange<UInt64> {
            let now = Self.second + quarter * UnfinishedStalls.refreshNanoseconds
            #expect(stalls.refresh(&outputs, at: now) > now)
        }
        let text = kept(at: path)
        #expect(text.contains(#""phase":"abandoned""#) && text.contains(#""duration_ms":6000.000,"#), "\(text)")
        #expect(!text.contains("duration_min_ms") && !text.contains("duration_max_ms"), "\(text)")
        stalls.close()
    }
}
