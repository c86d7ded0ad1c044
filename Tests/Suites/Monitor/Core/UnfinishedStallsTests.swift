import Glibc
import LagMonitorTestKit
import LagOutput
import TestSupport
import Testing

@testable import LagMonitor

/// What is kept of a stall in progress in case the process dies during it.
struct UnfinishedStallsTests {
    private static let second: UInt64 = 1_000_000_000

    private func kept(at path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// The bounds are those of the report, and the final duration would exceed them; the usage would not sum to it.
    @Test func `a stall left by a dead process has no duration bounds and no shares of its duration`() throws {
        let path = "/tmp/lagmonitor-unfinished-\(getpid())"
        defer { unlink(path) }
        var record = StallRecord(
            id: StallID(startRealtimeNanoseconds: 1, randomHigh: 2, randomLow: 3),
            startRealtimeNanoseconds: 1,
            startMonotonicNanoseconds: 1,
            durationNanoseconds: 5 * Self.second,
            thresholdNanoseconds: 150_000_000,
            phase: .begin,
            kind: .ping,
            loop: "main",
            threadID: 5
        )
        record.durationBounds = 5 * Self.second - 50_000_000...5 * Self.second
        record.threadName = "main"
        record.cause = .runqueue
        record.evidence.cpuNanoseconds = 2 * Self.second
        record.evidence.runDelayNanoseconds = 3 * Self.second
        record.evidence.blockedNanoseconds = 0
        record.fingerprint = "v1:6648237ade8e460d"
        record.stackHash = "9088f728ab831587"
        let context = ProcessContext.current()
        var outputs = [RecordOutput(encoder: RecordEncoder(context: context), sink: MemorySink())]
        var stalls = UnfinishedStalls(path: path, bootID: context.bootID, maxLineBytes: 8000)
        stalls.keep(record, &outputs, at: Self.second)
        #expect(kept(at: path).contains(#""duration_ms":5000.000,"#), "\(kept(at: path))")
        #expect(kept(at: path).contains(#""run_delay_ms":3000.000,"#), "\(kept(at: path))")
        for quarter in 1...4 as ClosedRange<UInt64> {
            let now = Self.second + quarter * UnfinishedStalls.refreshNanoseconds
            #expect(stalls.refresh(&outputs, at: now) > now)
        }
        let text = kept(at: path)
        #expect(text.contains(#""phase":"abandoned""#) && text.contains(#""duration_ms":6000.000,"#), "\(text)")
        #expect(text.contains(#""cause":"runqueue""#))
        for name in ["cpu_ms", "run_delay_ms", "blocked_ms"] { #expect(!text.contains("\"\(name)\""), "\(text)") }
        #expect(!text.contains("duration_min_ms") && !text.contains("duration_max_ms"), "\(text)")
        stalls.close()
    }

    /// Monitors of other processes share a path: each occupies a name only during a stall.
    @Test func `on a shared path, a file name is free again after the stall`() throws {
        let path = "/tmp/lagmonitor-shared-\(getpid())"
        defer { for name in [path, path + ".1"] { unlink(name) } }
        func record(_ number: UInt64) -> StallRecord {
            .sample(loop: "loop-\(number)", duration: .seconds(1), phase: .begin, number: number)
        }
        let context = ProcessContext.current()
        let sink = MemorySink()
        var outputs = [RecordOutput(encoder: RecordEncoder(context: context), sink: sink)]
        var one = UnfinishedStalls(path: path, bootID: context.bootID, maxLineBytes: 8000, isShared: true)
        var two = UnfinishedStalls(path: path, bootID: context.bootID, maxLineBytes: 8000, isShared: true)
        one.keep(record(1), &outputs, at: Self.second)
        two.keep(record(2), &outputs, at: Self.second)
        #expect(kept(at: path).contains("loop-1") && kept(at: path + ".1").contains("loop-2"))
        one.settle(record(1).id, &outputs, at: Self.second)
        #expect(access(path, F_OK) != 0 && access(path + ".1", F_OK) == 0)
        one.keep(record(3), &outputs, at: Self.second)
        #expect(kept(at: path).contains("loop-3"))
        // Neither monitor reports what an earlier process left: the program that starts them does.
        let now = OutputTime(realtimeNanoseconds: 1, monotonicNanoseconds: 1)
        let recovered = one.emitRecovered(&outputs, now)
        #expect(recovered == 0 && sink.lines.isEmpty)
        one.close()
        two.close()
        #expect(access(path, F_OK) != 0 && access(path + ".1", F_OK) != 0)
    }
}
