import Foundation
import LagModel
import LagOutput
import Testing

struct RecordEncoderTests {
    static let required = [
        "schema", "time", "id", "event", "phase", "severity", "message", "kind", "fingerprint", "stack_hash", "duration_ms",
        "threshold_ms", "mono_us", "boot_id", "pid", "thread_id", "thread_name", "process_name", "host_name", "loop", "cause",
        "capture", "samples", "samples_matched", "seq", "dropped_total", "suppressed_total", "frames_total", "frames",
    ]

    /// The keys of the outermost object, in the order of the line.
    private func keys(_ line: String) -> [String] {
        var depth = 0
        var inString = false
        var escaped = false
        var current = ""
        var keys: [String] = []
        for character in line {
            if inString {
                if escaped {
                    escaped = false
                } else if character == "\\" {
                    escaped = true
                } else if character == "\"" {
                    inString = false
                }
                if inString { current.append(character) }
            } else if character == "\"" {
                inString = true
                current = ""
            } else if character == ":" {
                if depth == 1 { keys.append(current) }
            } else if "{[".contains(character) {
                depth += 1
            } else if "}]".contains(character) {
                depth -= 1
            }
        }
        return keys
    }

    @Test func `a plain record is written as expected`() throws {
        let line = try Sample.line(Sample.record(frames: 1))
        #expect(
            line == """
                {"schema":"lagmonitor.stall.v1","time":"2024-02-29T23:59:59.123456789Z",\
                "id":"018df74f-8093-7abc-9234-56789abcdef0","event":"stall","phase":"end","severity":"warning",\
                "message":"main stood still for 250 ms","kind":"callout","fingerprint":"v1:0123456789abcdef",\
                "stack_hash":"0123456789abcdef","duration_ms":250.000,"threshold_ms":150.000,"mono_us":9007199254740993,\
                "boot_id":"00112233445566778899aabbccddeeff","pid":4242,"thread_id":4242,"thread_name":"main",\
                "process_name":"shop","host_name":"host-1","loop":"main","cause":"unknown","capture":"none","samples":0,\
                "samples_matched":0,"seq":0,"dropped_total":0,"suppressed_total":0,"frames_total":1,\
                "frames":[{"pc":"0x7f0000001000","module":"/opt/shop/bin/shop",\
                "build_id":"0123456789abcdef0123456789abcdef01234567","offset":"0x1000","symbol":"Shop.Frame0.run",\
                "symbol_offset":12,"in_app":true}]}

                """
        )
    }

    @Test func `pending work is in the line with its time`() throws {
        var record = Sample.record()
        #expect(try Sample.parse(Sample.line(record))["pending"] == nil)
        record.evidence.pending = true
        record.evidence.pendingNanoseconds = 12_345_678
        let line = try Sample.line(record)
        #expect(line.contains(#""cause":"unknown","pending":true,"pending_ms":12.345,"capture":"none""#))
        record.evidence.pending = false
        #expect(try Sample.parse(Sample.line(record))["pending"] as? Bool == false)
    }

    @Test func `iterations are in the line only if they were counted`() throws {
        var record = Sample.record()
        let bare = try Sample.parse(Sample.line(record))
        #expect(bare["turns"] == nil && bare["turn_events"] == nil)
        record.evidence.turns = 75
        record.evidence.turnEvents = 64
        #expect(try Sample.line(record).contains(#""cause":"unknown","turns":75,"turn_events":64,"capture":"none""#))
    }

    @Test func `throttled time is in the line only if a quota took some`() throws {
        var record = Sample.record()
        record.evidence.runDelayNanoseconds = 281_000_000
        #expect(try Sample.line(record).contains(#""run_delay_ms":281.000,"capture""#))
        record.evidence.throttledNanoseconds = 280_400_000
        #expect(try Sample.line(record).contains(#""run_delay_ms":281.000,"throttled_ms":280.400,"capture""#))
    }

    @Test func `the fields of a full record have the order of the schema`() throws {
        let line = try Sample.line(Sample.extremeRecord(), context: Sample.extremeContext, limit: 1_000_000)
        #expect(
            keys(line) == [
                "schema", "time", "id", "event", "phase", "severity", "message", "kind", "fingerprint", "stack_hash",
                "duration_ms", "threshold_ms", "mono_us", "boot_id", "pid", "thread_id", "thread_name", "process_name",
                "host_name", "service_name", "service_version", "loop", "activity", "mode",
                "trace_id", "span_id", "request", "requests_open", "task", "state", "cause", "cpu_ms", "run_delay_ms",
                "throttled_ms", "blocked_ms", "system_ms", "minor_faults", "major_faults", "gc", "syscall", "syscall_fd",
                "syscall_target", "wchan",
                "lock_kind", "lock_address", "lock_owner", "lock_readers", "lock_cycle", "lock_chain", "capture",
                "capture_error", "frame_pointer_recovered", "unwind_end", "samples", "samples_matched", "workers_total",
                "workers", "culprit", "culprit_confidence", "seq", "dropped_total", "suppressed_total", "frames_total", "frames",
            ]
        )
        let owner = try #require(try Sample.parse(line)["lock_owner"] as? [String: Any])
        #expect(Set(owner.keys) == ["thread_id", "thread_name", "waits_for", "frames"])
        #expect((owner["frames"] as? [Any])?.count == LineLimits.maximumOwnerFrames)
        let frame = try #require((try Sample.parse(line)["frames"] as? [[String: Any]])?.first)
        #expect(Set(frame.keys).union(["async", "skipped"]) == Set(FrameMember.all.map { "\($0.name)" }))
    }

    @Test func `missing values have no key`() throws {
        #expect(Set(try Sample.parse(Sample.line(Sample.record())).keys) == Set(Self.required))
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000000000Z"), (-1, "1969-12-31T23:59:59.999999999Z"),
        (951_782_400_000_000_000, "2000-02-29T00:00:00.000000000Z"), (951_868_800_000_000_001, "2000-03-01T00:00:00.000000001Z"),
        (4_107_542_400_000_000_000, "2100-03-01T00:00:00.000000000Z"), (Int64.max, "2262-04-11T23:47:16.854775807Z"),
        (Int64.min, "1677-09-21T00:12:43.145224192Z"), (1_735_689_599_999_999_999, "2024-12-31T23:59:59.999999999Z"),
    ])
    func `times are written in UTC with nine decimals`(nanoseconds: Int64, expected: String) throws {
        var record = Sample.record()
        record.startRealtimeNanoseconds = nanoseconds
        #expect(try Sample.parse(Sample.line(record))["time"] as? String == expected)
    }

    @Test(arguments: [(0.0, "0.000"), (0.12345, "0.123"), (1, "1.000"), (7, "1.000"), (-1, "0.000"), (Double.infinity, "1.000")])
    func `confidence is limited to the range from zero to one`(value: Double, expected: String) throws {
        var record = Sample.record()
        record.culpritConfidence = value
        #expect(try Sample.line(record).contains("\"culprit_confidence\":\(expected),"))
    }

    @Test func `confidence that is not a number is omitted`() throws {
        var record = Sample.record()
        record.culpritConfidence = .nan
        #expect(try !Sample.line(record).contains("culprit_confidence"))
    }

    @Test func `a line of exactly the limit is complete and one byte less costs the root frame`() throws {
        let record = Sample.record(frames: 20)
        let whole = try Sample.line(record, limit: 100_000)
        let exact = whole.utf8.count
        #expect(try Sample.line(record, limit: exact) == whole)

        let cut = try Sample.line(record, limit: exact - 1)
        let parsed = try Sample.parse(cut)
        let symbols = try #require(parsed["frames"] as? [[String: Any]]).compactMap { $0["symbol"] as? String }
        #expect(symbols == (0..<19).map { "Shop.Frame\($0).run" })
        #expect(parsed["frames_total"] as? Int == 20)
    }

    @Test func `every line is complete and within the limit`() throws {
        for record in [Sample.record(frames: 40), Sample.extremeRecord()] {
            for context in [Sample.context, Sample.extremeContext] {
                for limit in Array(stride(from: 1024, through: 4200, by: 197)) + [8000, 16_384, 65_536] {
                    let line = try Sample.line(record, context: context, limit: limit)
                    #expect(line.utf8.count <= limit)
                    #expect(line.hasSuffix("}\n"))
                    let parsed = try Sample.parse(line)
                    #expect(Set(Self.required).isSubset(of: parsed.keys))
                    #expect(!line.contains("\\u0000"))
                }
            }
        }
    }

    @Test func `long strings do not displace the leaf frame`() throws {
        var record = Sample.record(frames: 3)
        record.message = String(repeating: "m", count: 500)
        record.captureError = String(repeating: "e", count: 500)
        let parsed = try Sample.parse(Sample.line(record, limit: 1500))
        #expect((parsed["frames"] as? [Any])?.isEmpty == false)
    }

    @Test func `a symbol is cut at 256 bytes at a character boundary`() throws {
        var record = Sample.record(frames: 3)
        record.frames[0].symbol = String(repeating: "a", count: 256)
        record.frames[1].symbol = String(repeating: "b", count: 257)
        record.frames[2].symbol = String(repeating: "c", count: 255) + "é"
        let frames = try #require(try Sample.parse(Sample.line(record))["frames"] as? [[String: Any]])
        #expect(frames.map { ($0["symbol"] as? String)?.utf8.count } == [256, 256, 255])
    }

    @Test func `frames of the lock owner are removed before frames of the stalled thread`() throws {
        var record = Sample.record(frames: 4)
        let short = try Sample.line(record).utf8.count
        record.evidence.lockOwner = StallRecord.LockOwner(threadID: 7, threadName: "w", frames: (0..<4).map(Sample.frame))
        let parsed = try Sample.parse(Sample.line(record, limit: short + 100))
        #expect((parsed["frames"] as? [Any])?.count == 4)
        let owner = try #require(parsed["lock_owner"] as? [String: Any])
        #expect(owner["frames"] == nil)
        #expect(owner["thread_id"] as? Int == 7)
    }

    @Test func `the shortened stack of a lock owner includes frames of the program`() throws {
        var record = Sample.record(frames: 2)
        var frames = (0..<40).map(Sample.frame)
        for index in frames.indices { frames[index].inApp = index >= 20 }
        record.evidence.lockOwner = StallRecord.LockOwner(threadID: 7, frames: frames)
        let owner = try #require(try Sample.parse(Sample.line(record))["lock_owner"] as? [String: Any])
        let shown = try #require(owner["frames"] as? [[String: Any]])
        let names = shown.map { $0["symbol"] as? String }
        #expect(names == [0, 1, 2, 3, 20, 21, 22, 23].map { frames[$0].symbol })
        #expect(shown.map { $0["skipped"] as? Int } == [nil, nil, nil, nil, 16, nil, nil, nil])
        // An inlined function is not separated from the function that contains it.
        for index in [2, 3, 10] { frames[index].inlined = true }
        let parted = frames.shown(8)
        #expect(parted.map(\.symbol) == [0, 1, 20, 21, 22, 23, 24, 25].map { frames[$0].symbol } && parted[2].skipped == 15)
    }

    @Test func `the threads of a pool are grouped by their stack`() throws {
        var record = Sample.record(frames: 2)
        record.workers = [
            .init(threadIDs: [7, 9]), .init(threadIDs: [8], frames: (0..<12).map(Sample.frame)), .init(threadIDs: [10]),
        ]
        let long = try Sample.line(record)
        let parsed = try Sample.parse(long)
        #expect(parsed["workers_total"] as? Int == 4)
        let groups = try #require(parsed["workers"] as? [[String: Any]])
        #expect(groups.map { $0["thread_ids"] as? [Int] } == [[7, 9], [8], [10]])
        #expect(groups.map { ($0["frames"] as? [Any])?.count } == [nil, LineLimits.maximumOwnerFrames, nil])
        let tight = try Sample.parse(Sample.line(record, limit: long.utf8.count - 1))
        #expect((tight["frames"] as? [Any])?.count == 2)
        let fewer = try #require(tight["workers"] as? [[String: Any]])
        #expect(((fewer[1]["frames"] as? [Any])?.count ?? 0) < LineLimits.maximumOwnerFrames)
    }

    @Test func `the total number of frames is at least the number of written frames`() throws {
        var record = Sample.record(frames: 3)
        record.framesTotal = 0
        #expect(try Sample.parse(Sample.line(record))["frames_total"] as? Int == 3)
    }

    @Test(arguments: [Int.min, 0, 1023, 1_048_577])
    func `an invalid line limit is refused by name`(limit: Int) {
        let error = #expect(throws: LineLimitsError.self) { try LineLimits(maxLineBytes: limit) }
        #expect(error?.description == "max_line_bytes is \(limit), allowed is 1024 to 1048576")
    }

    @Test func `both ends of the line limit are allowed`() throws {
        #expect(try LineLimits(maxLineBytes: 1024).maxLineBytes == 1024)
        #expect(try LineLimits(maxLineBytes: 1_048_576).maxLineBytes == 1_048_576)
        #expect(LineLimits.standard.maxLineBytes == 8000)
    }

    @Test func `the encoder keeps nothing from the previous line`() throws {
        var encoder = RecordEncoder(context: Sample.context)
        let first = encoder.encode(Sample.record(frames: 1)) { String(decoding: $0, as: UTF8.self) }
        _ = encoder.encode(Sample.extremeRecord()) { $0.count }
        #expect(encoder.encode(Sample.record(frames: 1)) { String(decoding: $0, as: UTF8.self) } == first)
    }
}

struct ProcessContextTests {
    @Test func `the context describes the current process`() throws {
        let context = ProcessContext.current(serviceName: "shop", serviceVersion: "1.2")
        #expect(context.pid == ProcessInfo.processInfo.processIdentifier)
        #expect(context.processName == URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().lastPathComponent)
        #expect(context.hostName == ProcessInfo.processInfo.hostName || !context.hostName.isEmpty)
        let boot = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        #expect(context.bootID == boot.filter { $0 != "-" && $0 != "\n" })
        #expect(context.bootID.count == 32)
        #expect(context.serviceName == "shop")
        #expect(context.serviceVersion == "1.2")
    }
}
