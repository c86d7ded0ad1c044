@testable import LagReader

/// Inputs for tests.
enum Samples {
    /// Two shortened lines of the monitor about the same stall.
    static let begin = line(phase: "begin", milliseconds: "5000.000")
    static let end = line(phase: "end", milliseconds: "7123.456")

    static func line(
        id: String = "01a1ff4b-22ee-7d69-964c-dc2bec6b1bf6",
        phase: String = "end",
        milliseconds: String = "400.205",
        fingerprint: String = "v1:6648237ade8e460d",
        host: String = "web-1",
        cause: String = "lock",
        culprit: String = "App.acquire",
        time: String = "2026-11-21T18:07:56.654466405Z"
    ) -> String {
        #"{"schema":"lagmonitor.stall.v1","time":"\#(time)","id":"\#(id)","event":"stall","phase":"\#(phase)","#
            + #""severity":"warning","message":"main was stalled","kind":"callout","found_by":["callout"],"#
            + #""fingerprint":"\#(fingerprint)","stack_hash":"9088f728ab831587","duration_ms":\#(milliseconds),"#
            + #""threshold_ms":150.000,"mono_us":30477272205,"boot_id":"b467c849c0ae4c7c87c50b3069c2f79a","pid":24361,"#
            + #""thread_id":24361,"thread_name":"server","process_name":"server","host_name":"\#(host)","loop":"main","#
            + #""cause":"\#(cause)","cpu_ms":0.215,"syscall":"futex","lock_kind":"mutex","lock_address":"0x55e603ea8c90","#
            + #""lock_owner":{"thread_id":24385,"id":"no id","frames":[{"pc":"0x7ffbe1d14545","symbol":"clock_nanosleep"}]},"#
            + #""capture":"passive","samples":3,"samples_matched":3,"culprit":"\#(culprit)","culprit_confidence":0.900,"#
            + #""seq":4,"dropped_total":0,"suppressed_total":0,"frames_total":3,"frames":["#
            + #"{"pc":"0x7ffbe1ccb12b","module":"libc.so.6","build_id":"93ac61ec","offset":"0x8612b","symbol":"__lll_lock_wait","#
            + #""symbol_offset":43,"in_app":false},"#
            + #"{"pc":"0x55e5d2a2c90e","module":"server","offset":"0x28890e","symbol":"App.acquire","#
            + #""function":"App.acquire(Swift.Int) -> ()","file":"/src/App.swift","line":7,"inlined":false,"in_app":true},"#
            + #"{"pc":"0x55e5d2a20000","module":"server","offset":"0x280000","symbol":"main","in_app":true}]}"#
    }

    /// A stall ID for a number.
    static func id(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "01a1ff4b-22ee-7d69-964c-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    /// Scans a line and passes the scanner to `body`.
    static func scan<Result>(_ line: String, _ body: (borrowing LineScanner, JSONCursor.Failure?) -> Result) -> Result {
        var scanner = LineScanner()
        return Array(line.utf8).withUnsafeBytes { bytes in
            let failure = scanner.scan(bytes)
            return body(scanner, failure)
        }
    }
}

func grouped(_ lines: [String], by key: GroupKey = .fingerprint, times: Range<Int64> = .min ..< .max)
    -> StallGrouping.Aggregate
{
    let deduplicator = StallDeduplicator()
    var grouping = StallGrouping(by: key, times: times, deduplicator: deduplicator)
    for line in lines { Array(line.utf8).withUnsafeBytes { grouping.take($0) } }
    grouping.takeOpenLines()
    return grouping.finish()
}

/// Returns bytes in memory, at most `step` at a time.
final class MemorySource: ByteSource {
    private var rest: ArraySlice<UInt8>
    private let step: Int

    init(_ bytes: some Sequence<UInt8>, step: Int = .max) {
        rest = Array(bytes)[...]
        self.step = step
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
        let count = min(step, rest.count, buffer.count)
        buffer.copyBytes(from: rest.prefix(count))
        rest = rest.dropFirst(count)
        return count
    }
}
