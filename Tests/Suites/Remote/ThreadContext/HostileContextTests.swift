internal import CLagBeacon
internal import CLagLinux
internal import CLagRemote
internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// Arbitrary data that another process may write in place of its contexts: it is read within bounds, with or without a result.
struct HostileContextTests {
    private let memory = RemoteMemory(process: getpid())

    private func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] { [number << 3 | 2, UInt8(bytes.count)] + bytes }

    private var message: [UInt8] {
        let schema = field(1, Array("threadlocal.schema_version".utf8)) + field(2, field(1, Array("tls_v1".utf8)))
        let keys = field(5, field(1, field(1, Array("a".utf8))) + field(1, []) + field(1, field(1, Array("c".utf8))))
        let map = field(1, Array("threadlocal.attribute_key_map".utf8)) + field(2, keys)
        // A resource first, and an unknown field number.
        return field(1, [1, 2, 3]) + [0x18, 0xff, 0x01] + field(2, schema) + field(2, map)
    }

    @Test func `a key without text in the message keeps its index`() {
        let read = ProcessContextMessage(message)
        #expect(read.hasKnownSchema && read.keys == ["a", "", "c"])
        #expect(!ProcessContextMessage([]).hasKnownSchema)
    }

    @Test func `a truncated or corrupt message is read as far as it is valid`() {
        var random = SeededGenerator(seed: 4719)
        for length in message.indices { _ = ProcessContextMessage(Array(message.prefix(length))) }
        for _ in 0..<20_000 {
            var damaged = message
            for _ in 0..<(1 + random.next() % 4) {
                damaged[Int(random.next() % UInt64(damaged.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            #expect(ProcessContextMessage(damaged).keys.count <= 256)
        }
        let many = field(1, []) + field(1, [])
        var value: [UInt8] = []
        for _ in 0..<5000 { value += many }
        let array =
            [5 << 3 | 2] + [UInt8(value.count & 0x7f | 0x80), UInt8(value.count >> 7 & 0x7f | 0x80), UInt8(value.count >> 14)]
            + value
        let length = [UInt8(array.count & 0x7f | 0x80), UInt8(array.count >> 7 & 0x7f | 0x80), UInt8(array.count >> 14)]
        let attribute = field(1, Array("threadlocal.attribute_key_map".utf8)) + [2 << 3 | 2] + length + array
        let outer = [
            UInt8(attribute.count & 0x7f | 0x80), UInt8(attribute.count >> 7 & 0x7f | 0x80), UInt8(attribute.count >> 14),
        ]
        #expect(ProcessContextMessage([2 << 3 | 2] + outer + attribute).keys.count == 256)
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `reading context records in random memory terminates`(seed: UInt64) throws {
        let wild = WildMemory(seed: seed)
        let copy = try #require(MemoryCopy(process: getpid()))
        var found = clb_context_copy()
        for _ in 0..<200 {
            let pointer = wild.anyAddress
            let places: [ThreadLocalVariable.Place] = [
                .fixed(distance: -64), .dynamic(module: 1 + seed % 40, offset: 8 * (seed % 9), generation: seed % 3),
                .dynamic(module: 60_000, offset: .max, generation: 0),
            ]
            for place in places {
                copy.open(nil, within: 2_000_000)
                let record = ThreadContextRecord(copy, place, threadPointer: pointer)
                copy.close(nil)
                guard let record else { continue }
                record.write(to: &found, keys: Array(repeating: "key", count: 256), rule: PublishedAttributes())
                #expect(found.token != 0 && found.context.lengths >> 8 & 0xff <= UInt64(CLB_CONTEXT_TEXT_BYTES))
            }
            var published = PublishedProcessContext()
            published.refresh(memory, header: pointer)
            #expect(published.message == nil)
        }
    }

    /// A record of this process, as a writer creates it.
    private func record(_ attributes: [UInt8], valid: UInt8 = 1, trace: UInt8 = 7, span: UInt8 = 9, size: UInt16? = nil)
        -> [UInt8]
    {
        let count = size ?? UInt16(attributes.count)
        let traceID = Array(repeating: trace, count: 16)
        let spanID = Array(repeating: span, count: 8)
        return traceID + spanID + [valid, 1, UInt8(count & 0xff), UInt8(count >> 8)] + attributes
    }

    private func read(
        _ record: [UInt8],
        keys: [String] = ["http.route", "rpc.method"],
        rule: PublishedAttributes = PublishedAttributes()
    )
        throws -> clb_context_copy?
    {
        let copy = try #require(MemoryCopy(process: getpid()))
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 8192, alignment: 16)
        defer { bytes.deallocate() }
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        // The variable first, then the record.
        let start = UInt64(UInt(bitPattern: bytes.baseAddress))
        bytes.storeBytes(of: start + 16, as: UInt64.self)
        for (index, byte) in record.enumerated() { bytes[16 + index] = byte }
        copy.open(nil, within: 2_000_000_000)
        defer { copy.close(nil) }
        guard let found = ThreadContextRecord(copy, .fixed(distance: 0), threadPointer: start) else { return nil }
        var context = clb_context_copy()
        found.write(to: &context, keys: keys, rule: rule)
        return context
    }

    @Test func `an invalid context record is not read`() throws {
        let attributes: [UInt8] = [0, 2, 0x2f, 0x61]
        #expect(try read(record(attributes))?.texts == ["/a", "http.route", "/a"])
        #expect(try read(record(attributes, valid: 0)) == nil)
        #expect(try read(record(attributes, valid: 2)) == nil)
        // Trace and span must both be present or both be absent.
        #expect(try read(record(attributes, span: 0)) == nil)
        #expect(try read(record(attributes, trace: 0)) == nil)
        #expect(try read(record(attributes, trace: 0, span: 0))?.texts == ["/a", "http.route", "/a"])
        #expect(try read(record(attributes, size: 5000)) == nil)
        // The rest cannot contain a whole entry.
        #expect(try read(record(attributes + [1, 200, 0x61]))?.texts == ["/a", "http.route", "/a"])
        #expect(try read(record([1, 1, 0x6d, 1, 1, 0x6e]))?.texts == ["n", "rpc.method", "n"])
        // A value without a name is omitted.
        #expect(try read(record([5, 1, 0x6d]))?.texts == [""])
    }

    @Test func `an attribute that may not be recorded is not copied`() throws {
        // http.route = /a, authorization = me, user = b
        let bytes = record([0, 2, 0x2f, 0x61, 1, 2, 0x6d, 0x65, 2, 1, 0x62])
        let keys = ["http.route", "authorization", "user"]
        #expect(try read(bytes, keys: keys)?.texts == ["/a", "http.route", "/a", "user", "b"])
        #expect(try read(bytes, keys: keys, rule: .init(allowed: ["u*"]))?.texts == ["/a", "user", "b"])
        #expect(try read(bytes, keys: keys, rule: .init(excluded: ["http.*", "user"]))?.texts == [""])
        #expect(try read(bytes, keys: keys, rule: .init(allowed: ["authorization"]))?.texts == ["/a", "authorization", "me"])
    }

    #if arch(x86_64)
        @Test func `the thread pointer is found without stopping the thread`() {
            #expect(clr_thread_pointer(getpid(), cll_gettid()) == UInt64(pthread_self()))
            #expect(clr_thread_pointer(getpid(), .max) == 0)
        }
    #endif
}
