import Foundation
import LagOutput
import Testing

/// Base values for tests.
enum Sample {
    static let context = ProcessContext(
        pid: 4242,
        processName: "shop",
        hostName: "host-1",
        bootID: "00112233445566778899aabbccddeeff"
    )

    /// 2024-02-29T23:59:59.123456789Z.
    static let start: Int64 = 1_709_251_199_123_456_789

    static func record(frames: Int = 3) -> StallRecord {
        var record = StallRecord(
            id: StallID(startRealtimeNanoseconds: start, randomHigh: 0xabc, randomLow: 0x1234_5678_9abc_def0),
            startRealtimeNanoseconds: start,
            startMonotonicNanoseconds: 9_007_199_254_740_993_999,
            durationNanoseconds: 250_000_000,
            thresholdNanoseconds: 150_000_000,
            phase: .end,
            kind: .callout,
            loop: "main",
            threadID: 4242
        )
        record.threadName = "main"
        record.message = "main stood still for 250 ms"
        record.fingerprint = "v1:0123456789abcdef"
        record.stackHash = "0123456789abcdef"
        record.frames = (0..<frames).map(frame)
        record.framesTotal = record.frames.count
        return record
    }

    static func frame(_ number: Int) -> StallRecord.Frame {
        StallRecord.Frame(
            pc: 0x7f00_0000_1000 + UInt64(number),
            module: "/opt/shop/bin/shop",
            buildID: "0123456789abcdef0123456789abcdef01234567",
            offset: 0x1000 + UInt64(number),
            symbol: "Shop.Frame\(number).run",
            symbolOffset: 12,
            inApp: true
        )
    }

    /// A record with every field, as long and as large as possible.
    static func extremeRecord() -> StallRecord {
        let long = String(repeating: "\u{1}", count: 5000)
        var record = record(frames: 0)
        record.startRealtimeNanoseconds = .max
        record.startMonotonicNanoseconds = .max
        record.durationNanoseconds = .max
        record.thresholdNanoseconds = .max
        record.phase = .abandoned
        record.severity = .critical
        record.kind = .starvation
        record.cause = .pageFault
        record.capture = .passive
        record.threadID = .max
        record.message = long
        record.fingerprint = long
        record.stackHash = long
        record.threadName = long
        record.loop = long
        record.activity = long
        record.mode = long
        record.captureError = long
        record.culprit = long
        record.culpritConfidence = 0.5
        record.samples = .max
        record.samplesMatched = .max
        record.sequence = .max
        record.droppedTotal = .max
        record.suppressedTotal = .max
        record.framesTotal = .max
        let frame = StallRecord.Frame(
            pc: .max,
            module: long,
            buildID: long,
            offset: .max,
            symbol: long,
            function: long,
            symbolOffset: .max,
            file: long,
            line: .min,
            language: long,
            inlined: false,
            inApp: false,
            tailCall: false
        )
        record.frames = Array(repeating: frame, count: 100)
        let owner = StallRecord.LockOwner(threadID: .max, threadName: long, waitsFor: .max, frames: record.frames)
        record.framePointerRecovered = true
        record.unwindEnd = long
        var evidence = StallRecord.Evidence()
        evidence.cpuNanoseconds = .max
        evidence.runDelayNanoseconds = .max
        evidence.throttledNanoseconds = .max
        evidence.blockedNanoseconds = .max
        evidence.systemNanoseconds = .max
        evidence.minorFaults = .max
        evidence.majorFaults = .max
        evidence.isCollecting = true
        evidence.syscall = long
        evidence.syscallDescriptor = .min
        evidence.syscallTarget = long
        evidence.wchan = long
        evidence.lockKind = .readWrite
        evidence.lockAddress = .max
        evidence.lockOwner = owner
        evidence.lockReaders = .max
        evidence.lockCycle = Array(repeating: owner, count: 5)
        evidence.lockChain = Array(repeating: owner, count: 5)
        record.evidence = evidence
        // The names in an object must be distinct.
        let attributes = (0..<20).map { StallRecord.Request.Attribute(name: "\($0)" + long, value: long) }
        let request = StallRecord.Request(
            name: long,
            running: true,
            open: .seconds(1 << 32),
            attributes: attributes
        )
        record.request = request
        record.requestsOpen = Array(repeating: request, count: 20)
        record.traceID = String(repeating: "f", count: 32)
        record.spanID = String(repeating: "f", count: 16)
        record.task = StallRecord.RunningTask(id: .max, name: long, priority: .max, awaitedBy: Array(repeating: long, count: 9))
        record.state = request.attributes
        record.workers = Array(
            repeating: StallRecord.WorkerGroup(threadIDs: Array(repeating: .max, count: 64), frames: record.frames),
            count: 13
        )
        return record
    }

    static let extremeContext = ProcessContext(
        pid: .max,
        processName: String(repeating: "\"", count: 5000),
        hostName: String(repeating: "\u{2}", count: 5000),
        bootID: String(repeating: "f", count: 5000),
        serviceName: String(repeating: "\\", count: 5000),
        serviceVersion: String(repeating: "é", count: 5000)
    )

    static func line(_ record: StallRecord, context: ProcessContext = context, limit: Int = LineLimits.defaultLineBytes) throws
        -> String
    {
        var encoder = RecordEncoder(context: context, limits: try LineLimits(maxLineBytes: limit))
        return encoder.encode(record) { String(decoding: $0, as: UTF8.self) }
    }

    static func parse(_ line: String) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }
}

extension RecordSink {
    func put(_ line: String) throws(SinkError) {
        let bytes = Array(line.utf8)
        let span = bytes.span
        try span.withUnsafeBufferPointer { buffer throws(SinkError) in try write(UnsafeRawBufferPointer(buffer)) }
    }
}
