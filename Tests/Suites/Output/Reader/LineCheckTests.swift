import LagOutput
import Testing

@testable import LagReader

struct LineCheckTests {
    private func problems(_ line: [UInt8]) -> [String] {
        var check = LineCheck()
        return line.withUnsafeBytes { check.validationErrors(in: $0) }
    }

    private func problems(_ line: String) -> [String] { problems(Array(line.utf8)) }

    @Test func `a line that the monitor writes is valid`() throws {
        var record = StallRecord(
            id: StallID(startRealtimeNanoseconds: 1_795_284_476_654_466_405, randomHigh: 5, randomLow: 7),
            startRealtimeNanoseconds: 1_795_284_476_654_466_405,
            startMonotonicNanoseconds: 30_477_272_205_000,
            durationNanoseconds: 400_205_000,
            thresholdNanoseconds: 150_000_000,
            phase: .end,
            kind: .callout,
            loop: "main",
            threadID: 5
        )
        record.foundBy = [.callout, .sample]
        record.threadName = "näme\u{0}\""
        record.fingerprint = "v1:6648237ade8e460d"
        record.stackHash = "9088f728ab831587"
        record.cause = .pageFault
        record.capture = .passive
        record.frames = [.init(pc: 1, module: "a", offset: 2, symbol: "f", line: 3, inlined: true, inApp: true), .init(pc: .max)]
        record.framesTotal = record.frames.count
        record.durationBounds = 1...2_000_000_000
        record.evidence.cpuNanoseconds = 5
        record.evidence.syscallDescriptor = -1
        record.evidence.lockOwner = .init(threadID: 6, threadName: "w", waitsFor: 9, frames: [.init(pc: 3)])
        record.evidence.lockCycle = [.init(threadID: 6), .init(threadID: 7)]
        record.samplesShare = 0.5
        record.sampleTree = [
            .init(
                weightNanoseconds: 5_000_000,
                samples: 2,
                frames: ["a"],
                children: [.init(weightNanoseconds: 1, samples: 1, frames: [])]
            )
        ]
        let context = ProcessContext.current()
        for limit in [1024, 8000] {
            var encoder = RecordEncoder(context: context, limits: try LineLimits(maxLineBytes: limit))
            let line = encoder.encode(record) { Array($0) }
            #expect(problems(line) == [], "\(String(decoding: line, as: UTF8.self))")
        }
    }

    @Test(arguments: [("100.001,\"run_delay_ms\":0.204,", true), ("152.677,\"run_delay_ms\":0.000,", false)])
    func `the times of a thread must sum to the duration`(usage: String, isRight: Bool) throws {
        let line = Samples.line(milliseconds: "400.205").replacing(
            "\"cpu_ms\":0.215,",
            with: "\"cpu_ms\":\(usage)\"blocked_ms\":300.000,"
        )
        let sums = problems(line).filter { $0.contains("do not sum to duration_ms") }
        #expect(sums.isEmpty == isRight, "\(problems(line))")
    }

    @Test(arguments: [
        (#""phase":"end""#, #""phase":"ended""#, #"phase is "ended"; allowed: begin, end, abandoned"#),
        (#""pid":24361,"#, "", "pid is missing"), (#""pid":24361"#, #""pid":null"#, "pid is missing"),
        (#""pid":24361"#, #""pid":"24361""#, #"pid is "24361"; allowed: a whole number"#),
        (#""pid":24361"#, #""pid":-1"#, "pid is -1; allowed: a whole number from 0 to 2147483647"),
        (#""duration_ms":7123.456"#, #""duration_ms":7123"#, "duration_ms is 7123; allowed: a number with a fraction, 0 or more"),
        ("654466405Z", "654Z", #"time is "2026-11-21T18:07:56.654Z"; allowed: a UTC time with nine fractional digits and Z"#),
        ("2026-11-21T", "2026-11-31T", "time is"), ("-7d69-", "-4d69-", "id is"), ("-964c-", "-164c-", "id is"),
        ("v1:6648237ade8e460d", "v1:6648237ADE8E460D", "fingerprint is"), ("9088f728ab831587", "9088", "stack_hash is"),
        (
            #""culprit_confidence":0.900"#, #""culprit_confidence":1.1"#,
            "culprit_confidence is 1.1; allowed: a number from 0 to 1"
        ),
        (#""duration_ms":7123.456"#, #""duration_ms":7123.456,"duration_min_ms":7123.457"#, "duration_ms is not between"),
        (#""duration_ms":7123.456"#, #""duration_ms":7123.456,"duration_max_ms":7123.455"#, "duration_ms is not between"),
        (#""samples_matched":3"#, #""samples_matched":4"#, "samples_matched is 4, more than samples, 3"),
        (#""line":7"#, #""line":"7""#, #"frames[1].line is "7"; allowed: a whole number"#),
        (#"{"pc":"0x55e5d2a20000","#, "{", "frames[2].pc is missing"),
        (#""pc":"0x7ffbe1ccb12b""#, #""pc":140"#, "frames[0].pc is 140"),
        (#""thread_id":24385,"#, "", "lock_owner.thread_id is missing"),
        (#"{"pc":"0x7ffbe1d14545","#, #"{"pc":"7","#, #"lock_owner.frames[0].pc is "7""#),
        (#"["callout"]"#, #"["callout","x"]"#, #"found_by[1] is "x""#),
        (#""capture":"passive""#, #""capture":"none""#, "capture is \"none\""),
        (#""event":"stall""#, #""event":"stalled""#, #"event is "stalled""#), (#""event":"stall","#, "", "event is missing"),
        ("lagmonitor.stall.v1", "lagmonitor.stall.v9", "schema is"), ("main was", "main \\u0000 was", "a string with \\u0000"),
        ("main was", "main \\ud83d was", "a string with half of a surrogate pair"),
        ("main was", "\\ude00\\ud83d", "a string with half"),
        (#""pid":24361"#, #""pid":24361,"pid":24362"#, "pid appears twice"),
        (#""pid":24361"#, #""pid":24361,"p\u0069d":24361"#, "pid appears twice"),
        (#""pid":24361"#, #""pid":24361,"new":[[1,{"a":1,"b":{},"a":2}]]"#, "new[0][1].a appears twice"),
        (#"{"pc":"0x7ffbe1d14545","#, #"{"pc":"0x1","pc":"0x7ffbe1d14545","#, "lock_owner.frames[0].pc appears twice"),
        (#""seq":4"#, #""seq":-4"#, "seq is -4; allowed: a whole number, 0 or more"), ("]}", "]", "not a JSON object:"),
    ])
    func `each damage is reported by name`(part: String, replacement: String, expected: String) throws {
        #expect(problems(Samples.end) == [])
        let damaged = Samples.end.replacing(part, with: replacement, maxReplacements: 1)
        #expect(damaged != Samples.end)
        // Here the last bracket is removed.
        let line = part == "]}" ? String(Samples.end.dropLast()) : damaged
        let found = problems(line)
        #expect(found.contains { $0.hasPrefix(expected) }, "\(found)")
        #expect(found.count <= 2)
    }

    @Test func `invalid UTF-8 is reported`() {
        var line = Array(Samples.end.utf8)
        line[line.firstIndex(of: UInt8(ascii: "w"))!] = 0xff
        #expect(problems(line).contains("invalid UTF-8"))
    }

    @Test func `members that the schema does not have are allowed`() {
        #expect(problems(Samples.end.dropLast() + #","later_id":"x","new":{"a":[1]},"text":"\ud83d\ude00"}"#) == [])
    }
}
