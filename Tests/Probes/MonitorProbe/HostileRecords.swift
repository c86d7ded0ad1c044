import LagOutput
import TestSupport

/// Records with only extreme values. The same for a seed, everywhere.
struct HostileRecords {
    private var random: SeededGenerator
    private var made: UInt64 = 0

    /// Integers that a reader stores in a double: 2^53 - 1, the largest that RFC 8259 calls interoperable.
    private static let largest: UInt64 = 9_007_199_254_740_991
    /// 2024-02-29T23:59:59.123456789Z.
    private static let start: Int64 = 1_709_251_199_123_456_789

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func context() -> ProcessContext {
        var context = ProcessContext(
            pid: Int32(truncatingIfNeeded: random.next() >> 34),
            processName: text(),
            hostName: text(),
            bootID: "00112233445566778899aabbccddeeff",
            serviceName: perhaps { $0.text() },
            serviceVersion: perhaps { $0.text() }
        )
        context.resource.namespaceName = perhaps { $0.text() }
        context.resource.podName = perhaps { $0.text() }
        context.resource.containerName = perhaps { $0.text() }
        context.resource.nodeName = perhaps { $0.text() }
        context.resource.containerID = perhaps { $0.text() }
        if let text = perhaps({ $0.text() }) {
            context.labels = RecordLabels(claimed: ["team": String(text.unicodeScalars.prefix(24)), "stage": "prod"])
        }
        return context
    }

    mutating func record() -> StallRecord {
        made += 1
        let start = Self.start &+ Int64(random.next() % 1_000_000_000_000_000)
        var record = StallRecord(
            id: StallID(startRealtimeNanoseconds: start, randomHigh: random.next(), randomLow: random.next()),
            startRealtimeNanoseconds: start,
            startMonotonicNanoseconds: number(),
            durationNanoseconds: number(),
            thresholdNanoseconds: number(),
            phase: pick(StallRecord.Phase.allCases),
            kind: pick(StallRecord.Kind.allCases),
            loop: text(),
            threadID: Int32(truncatingIfNeeded: random.next() >> 34)
        )
        record.foundBy = StallRecord.Kind.allCases.filter { _ in random.next() & 1 == 0 }
        record.threadName = text()
        record.severity = pick(StallRecord.Severity.allCases)
        record.message = text()
        record.fingerprint = random.next() & 7 == 0 ? text() : "v1:0123456789abcdef"
        record.stackHash = random.next() & 7 == 0 ? text() : "0123456789abcdef"
        if random.next() & 1 == 0 {
            let duration = record.durationNanoseconds
            record.durationBounds = min(duration, number())...max(duration, number())
            record.excludedNanoseconds = number()
        }
        record.activity = perhaps { $0.text() }
        record.mode = perhaps { $0.text() }
        record.incident = perhaps {
            StallID(startRealtimeNanoseconds: 1, randomHigh: $0.random.next(), randomLow: $0.random.next())
        }
        record.request = perhaps { $0.request(running: true) }
        if random.next() & 1 == 0 { record.requestsOpen = (0..<random.next() % 8).map { _ in request(running: false) } }
        record.traceID = perhaps { _ in "0af7651916cd43dd8448eb211c80319c" }
        record.spanID = perhaps { _ in "b7ad6b7169203331" }
        record.task = perhaps {
            StallRecord.RunningTask(
                id: $0.number(),
                name: $0.text(),
                priority: $0.number(),
                awaitedBy: $0.random.next() & 1 == 0 ? [] : [$0.text(), $0.text()]
            )
        }
        if random.next() & 1 == 0 { record.state = attributes() }
        record.cause = pick(StallRecord.Cause.allCases)
        record.evidence = evidence()
        record.capture = pick(StallRecord.Capture.allCases)
        record.captureError = perhaps { $0.text() }
        record.framePointerRecovered = random.next() & 1 == 0
        record.isLate = random.next() & 3 == 0
        record.unwindEnd = perhaps { $0.text() }
        record.samples = number()
        record.samplesMatched = number()
        record.samplesShare = perhaps { Double($0.random.next() % 1001) / 1000 }
        if random.next() & 7 == 0 { record.workers = (0..<1 + random.next() % 4).map { _ in workers() } }
        record.culprit = perhaps { $0.text() }
        record.culpritConfidence = perhaps { Double($0.random.next() % 1001) / 1000 }
        record.sequence = made
        record.droppedTotal = number()
        record.suppressedTotal = number()
        record.frames = frames(random.next() % 120)
        record.framesTotal = record.frames.count + Int(random.next() % 1000)
        if random.next() & 3 == 0 { record.sampleTree = [node(levels: 1 + random.next() % 16)] }
        return record
    }

    private mutating func request(running: Bool) -> StallRecord.Request {
        StallRecord.Request(
            name: text(),
            running: running,
            open: .microseconds(Int64(random.next() % 1_000_000_000)),
            attributes: attributes()
        )
    }

    private mutating func attributes() -> [StallRecord.Request.Attribute] {
        // The names in an object differ.
        (0..<random.next() % 4).map { StallRecord.Request.Attribute(name: "\($0)" + text(), value: text()) }
    }

    mutating func dropNotice() -> Notice {
        let (count, reason, time) = (number(), pick(Notice.DropReason.allCases), time())
        return .dropped(count, reason, total: number(), time: time)
    }

    mutating func suppressionNotice() -> Notice {
        var held = Suppression(fingerprint: perhaps { $0.text() })
        held.fingerprints = 1 + number()
        held.count = number()
        held.firstRealtimeNanoseconds = Self.start
        held.lastRealtimeNanoseconds = Self.start
        held.longestNanoseconds = number()
        held.totalNanoseconds = number()
        held.culprit = perhaps { $0.text() }
        held.message = text()
        let time = time()
        return Notice(.suppressed(held, total: number()), time: time)
    }

    mutating func recurrenceNotice() -> Notice {
        var watch = RecurrenceDetector(count: 2, windowNanoseconds: .max)
        var record = record()
        record.phase = .end
        record.culprit = perhaps { $0.text() }
        _ = watch.observe(record, at: 1)
        guard var recurrence = watch.observe(record, at: 2) else { fatalError("a second stall is no recurrence") }
        recurrence.count = number()
        recurrence.windowNanoseconds = number()
        recurrence.totalNanoseconds = number()
        recurrence.seenTotal = number()
        return Notice(.recurring(recurrence), time: time())
    }

    private mutating func time() -> OutputTime {
        OutputTime(realtimeNanoseconds: Self.start, monotonicNanoseconds: number())
    }

    private mutating func evidence() -> StallRecord.Evidence {
        var evidence = StallRecord.Evidence()
        evidence.cpuNanoseconds = perhaps { $0.number() }
        evidence.runDelayNanoseconds = perhaps { $0.number() }
        evidence.throttledNanoseconds = perhaps { $0.number() }
        evidence.blockedNanoseconds = perhaps { $0.number() }
        evidence.systemNanoseconds = perhaps { $0.number() }
        evidence.minorFaults = perhaps { $0.number() }
        evidence.majorFaults = perhaps { $0.number() }
        evidence.isCollecting = evidence.majorFaults.map { $0 & 1 == 0 }
        evidence.syscall = perhaps { $0.text() }
        evidence.syscallDescriptor = perhaps { Int32(truncatingIfNeeded: $0.random.next()) }
        evidence.syscallTarget = perhaps { $0.text() }
        evidence.wchan = perhaps { $0.text() }
        evidence.lockKind = perhaps { $0.pick(StallRecord.LockKind.allCases) }
        evidence.lockAddress = perhaps { $0.random.next() }
        evidence.lockOwner = perhaps { $0.owner() }
        evidence.lockReaders = perhaps { $0.number() }
        if random.next() & 7 == 0 { evidence.lockCycle = [owner(), owner()] }
        if random.next() & 7 == 0 { evidence.lockChain = [owner(), owner()] }
        evidence.pending = perhaps { $0.random.next() & 1 == 0 }
        evidence.pendingNanoseconds = perhaps { $0.number() }
        evidence.turns = perhaps { $0.number() }
        evidence.jobsWaiting = perhaps { $0.number() }
        evidence.turnEvents = perhaps { $0.number() }
        return evidence
    }

    private mutating func workers() -> StallRecord.WorkerGroup {
        let threads = (0..<1 + random.next() % 16).map { _ in Int32(truncatingIfNeeded: random.next() >> 34) }
        return StallRecord.WorkerGroup(threadIDs: threads, frames: frames(random.next() % 12))
    }

    private mutating func owner() -> StallRecord.LockOwner {
        StallRecord.LockOwner(
            threadID: Int32(truncatingIfNeeded: random.next() >> 34),
            threadName: perhaps { $0.text() },
            waitsFor: perhaps { $0.random.next() },
            frames: frames(random.next() % 10)
        )
    }

    private mutating func frames(_ count: UInt64) -> [StallRecord.Frame] {
        (0..<count).map { _ in
            StallRecord.Frame(
                pc: random.next(),
                module: perhaps { $0.text() },
                buildID: perhaps { $0.text() },
                offset: perhaps { $0.random.next() },
                symbol: perhaps { $0.text() },
                function: perhaps { $0.text() },
                symbolOffset: perhaps { $0.number() },
                file: perhaps { $0.text() },
                line: perhaps { Int($0.random.next() >> 33) },
                language: perhaps { $0.text() },
                inlined: perhaps { $0.random.next() & 1 == 0 },
                inApp: perhaps { $0.random.next() & 1 == 0 },
                isAsync: perhaps { $0.random.next() & 1 == 0 },
                skipped: perhaps { Int($0.random.next() >> 33) },
                tailCall: perhaps { $0.random.next() & 1 == 0 }
            )
        }
    }

    private mutating func node(levels: UInt64) -> StallRecord.SampleNode {
        let frames = (0...(random.next() & 3 == 0 ? 60 : random.next() % 12)).map { _ in text() }
        let children = levels > 1 ? (0...random.next() & 1).map { $0 == 0 ? node(levels: levels - 1) : node(levels: 1) } : []
        return StallRecord.SampleNode(weightNanoseconds: number(), samples: number(), frames: frames, children: children)
    }

    private mutating func number() -> UInt64 {
        switch random.next() % 4 {
        case 0: 0
        case 1: Self.largest
        case 2: random.next() % 1000
        default: random.next() >> 11
        }
    }

    /// A text of up to 3000 bytes that contains some of the sequences that readers often mishandle, or only one of them.
    private mutating func text() -> String {
        let kind = random.next() % 8
        if kind == 0 { return "" }
        if kind < 4 { return "Shop.Basket.render(\(random.next() % 1000))" }
        var bytes: [UInt8] = []
        let length = kind == 7 ? 3000 : 1 + Int(random.next() % 60)
        let one = kind == 6 ? Self.pieces[Int(random.next() % UInt64(Self.pieces.count))] : nil
        while bytes.count < length { bytes += one ?? Self.pieces[Int(random.next() % UInt64(Self.pieces.count))] }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value { values[Int(random.next() % UInt64(values.count))] }

    private mutating func perhaps<Value>(_ make: (inout HostileRecords) -> Value) -> Value? {
        random.next() & 3 == 0 ? nil : make(&self)
    }

    /// Bytes, not texts: half of them are not valid UTF-8.
    private static let pieces: [[UInt8]] =
        (0x00...0x1f).map { [$0] } + [
            Array("\"".utf8), Array("\\".utf8), Array("\\u0000".utf8), Array("\\\"".utf8), Array("'".utf8), Array("/".utf8),
            Array("</script><script>".utf8), Array("%s%n%d".utf8), Array("{\"a\":[".utf8), Array("}]".utf8),
            Array("$(id)`id`".utf8),
            Array("=1+1".utf8), Array("@cee:".utf8), Array("#012".utf8), Array("null".utf8), Array(" \t ".utf8), [0x7f],
            Array("\u{80}\u{85}\u{9f}\u{a0}\u{ad}".utf8), Array("\u{2028}\u{2029}\u{feff}\u{202e}\u{200d}".utf8),
            Array("é".utf8), Array("東京".utf8), Array("🧵👩‍👩‍👧‍👦".utf8), Array("\u{10ffff}\u{e000}".utf8),
            // Noncharacters in well-formed UTF-8: U+FFFE, U+FFFF, U+FDD0.
            [0xef, 0xbf, 0xbe, 0xef, 0xbf, 0xbf, 0xef, 0xb7, 0x90],
            Array("e\u{301}\u{327}".utf8), Array("->".utf8), Array("$s4Shop6BasketC6renderyyF".utf8),
            [0xff], [0xfe], [0x80], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe1, 0x80], [0xf0, 0x9f, 0xa7],
        ]
}
