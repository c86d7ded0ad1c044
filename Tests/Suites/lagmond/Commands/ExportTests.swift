internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import LagReader
@testable internal import lagmond

struct ExportTests {
    private let lines =
        StallLines.line(1, phase: "begin", milliseconds: "5000.000") + StallLines.line(1, milliseconds: "6000.600")
        + StallLines.line(2) + StallLines.line(3, culprit: "a;b->c")
        + StallLines.line(4, fingerprint: "v1:0000000000000001", more: StallLines.tree)

    @Test func `folded stacks carry their stalled milliseconds`() throws {
        let (status, output, errors) = try LagmondProcess.run(["export", "--format", "folded", "a"], files: ["a": lines])
        #expect(status == 0)
        #expect(errors == "")
        let expected = """
            server;[not sampled] 10
            server;main;App.acquire;__lll_lock_wait 6401
            server;main;App.f 40
            server;main;App.f;App.g:h;App.acquire 250
            server;main;App.f;a→b 100
            server;main;a:b→c;__lll_lock_wait 400

            """
        #expect(output == expected, "\(output)")
    }

    @Test func `frames that were trimmed from the line are marked in the folded stack`() throws {
        let line = StallLines.line(1).replacing(#""frames_total":3"#, with: #""frames_total":9"#)
        let (_, output, _) = try LagmondProcess.run(["export", "--format", "folded", "a"], files: ["a": line])
        #expect(output == "server;[trimmed];main;App.acquire;__lll_lock_wait 400\n")
    }

    /// Each node is a child of the one before: copying every call path would take quadratic time.
    @Test func `a hostile sample tree is exported at bounded cost`() {
        var stall = ParsedStall()
        stall.durationNanoseconds = 10_000_000_000
        let leaf = ParsedStall.Sample(nanoseconds: 1_000_000, frames: ["leaf"])
        stall.sampleTree = [
            ParsedStall.Sample(
                nanoseconds: 9_000_000_000,
                frames: (0..<5000).map { "f\($0)" },
                children: Array(repeating: leaf, count: 9000)
            )
        ]
        var (paths, frames, sum) = (0, 0, UInt64(0))
        StackPath.forEach(of: stall) { path in
            #expect(path.frames.count <= StackPath.maximumFrames + 1)
            paths += 1
            frames += path.frames.count
            sum += path.nanoseconds
        }
        #expect(paths <= StackPath.maximumPaths + 2)
        #expect(frames < 300_000)
        #expect(sum == stall.durationNanoseconds)
    }

    @Test func `perf script output has one event per call path`() throws {
        let (status, output, _) = try LagmondProcess.run(["export", "--format", "perf", "a"], files: ["a": StallLines.line(2)])
        #expect(status == 0)
        let expected = """
            server 24361/24362 1795284476.654466: 400 stall-ms: 
            \t    7ffbe1ccb12b __lll_lock_wait+0x2b (libc.so.6)
            \t    55e5d2a2c90e App.acquire+0x2b (server)
            \t    55e5d2a20000 main+0x2b (server)


            """
        #expect(output == expected, "\(output)")
    }

    @Test func `speedscope weights add up to the stalled time`() throws {
        let (status, output, _) = try LagmondProcess.run(["export", "--format", "speedscope", "a"], files: ["a": lines])
        #expect(status == 0)
        let file = try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
        let frames = try #require((file["shared"] as? [String: Any])?["frames"] as? [[String: Any]])
        let profile = try #require((file["profiles"] as? [[String: Any]])?.first)
        let samples = try #require(profile["samples"] as? [[Int]])
        let weights = try #require(profile["weights"] as? [Double])
        #expect(samples.count == weights.count)
        #expect(samples.allSatisfy { $0.allSatisfy(frames.indices.contains) })
        #expect(abs(weights.reduce(0, +) - 7200.6) < 0.001)
        #expect(
            samples.contains { $0.map { frames[$0]["name"] as? String } == ["server", "main", "App.acquire", "__lll_lock_wait"] }
        )
    }

    @Test func `the pprof file contains counts, times and labels of the stalls`() throws {
        try ScratchDirectory.with { directory in
            let named = lines.replacing(#""seq":4"#, with: #""service_name":"cache","seq":4"#, maxReplacements: 3)
            try directory.write(named, to: "a")
            let lagmond = try LagmondProcess(["export", "--format", "pprof", "a"], in: directory)
            #expect(lagmond.wait() == 0)
            let input = try InputFile(directory.file("out"))
            #expect(input.content == .gzip)
            let source = input.source()
            var bytes: [UInt8] = []
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 1)
            defer { buffer.deallocate() }
            while true {
                let count = try source.read(into: buffer)
                guard count > 0 else { break }
                bytes += buffer[..<count]
            }
            let fields = try #require(Self.fields(bytes[...]))
            let strings = fields.filter { $0.number == 6 }.map { String(decoding: $0.content, as: UTF8.self) }
            #expect(strings.first == "")
            #expect(strings.contains("nanoseconds"))
            #expect(strings.contains("App.g:h"))
            let samples = fields.filter { $0.number == 2 }.compactMap { Self.fields($0.content) }
            let values = samples.compactMap { Self.numbers($0.first { $0.number == 2 }?.content ?? []) }
            #expect(values.reduce(0) { $0 + $1[0] } == 4)
            #expect(values.reduce(0) { $0 + $1[1] } == 7_200_600_000)
            let labels = samples.map { sample in
                sample.filter { $0.number == 3 }.compactMap { Self.fields($0.content) }.map { label in
                    label.compactMap { $0.value.map { strings[Int($0)] } }
                }
            }
            #expect(
                labels.contains([
                    ["process", "server"], ["target", "cache"], ["cause", "lock"], ["culprit", "App.acquire"],
                    ["thread", "server"],
                ]),
                "\(labels)"
            )
            // Stalls without a service have no such label.
            #expect(labels.contains { $0.count == 4 && $0.contains(["culprit", "a;b->c"]) }, "\(labels)")
            #expect(
                fields.count { $0.number == 4 } == fields.filter { $0.number == 4 }.compactMap { Self.fields($0.content) }.count
            )
        }
    }

    @Test func `the fingerprint option selects stalls`() throws {
        let arguments = ["export", "--format", "folded", "--fingerprint", "v1:0000000000000001", "a"]
        let (_, output, _) = try LagmondProcess.run(arguments, files: ["a": lines])
        #expect(output.split(separator: "\n").count == 4)
        #expect(!output.contains("__lll_lock_wait"))
    }

    @Test(arguments: ["folded", "otlp"]) func `a fingerprint without a matching stall is reported`(format: String) throws {
        let arguments = ["export", "--format", format, "a", "--fingerprint"]
        let (status, output, errors) = try LagmondProcess.run(arguments + ["v1:00000000000000ff"], files: ["a": lines])
        #expect(status == 0 && output == "" && errors == "lagmond: no stall with fingerprint v1:00000000000000ff\n", "\(errors)")
        let bogus = try LagmondProcess.run(arguments + ["bogus"], files: ["a": lines])
        #expect(bogus.status == 64 && bogus.errors.contains("\"bogus\" is not a fingerprint"), "\(bogus.errors)")
    }

    @Test(arguments: [["export", "a"], ["export", "--format", "svg", "a"]])
    func `an unknown format is refused`(arguments: [String]) throws {
        let (status, _, errors) = try LagmondProcess.run(arguments, files: ["a": lines])
        #expect(status == 64)
        #expect(errors.contains("folded, perf, speedscope"))
    }

    @Test func `a full call tree shortens stacks and keeps all time`() {
        var tree = CallTree()
        let leaf = ExportFrame(name: "leaf")
        for number in 0..<CallTree.maximumNodes / 2 + 10 {
            tree.add(StackPath(frames: [ExportFrame(name: "r"), ExportFrame(name: "\(number)"), leaf], nanoseconds: 1), count: 1)
        }
        #expect(tree.nodes.count == CallTree.maximumNodes)
        #expect(tree.shortened > 0)
        #expect(tree.nodes.reduce(0) { $0 + $1.nanoseconds } == UInt64(CallTree.maximumNodes / 2 + 10))
    }

    @Test func `label sets are bounded and keep all time`() {
        var tree = CallTree()
        var stall = ParsedStall()
        for number in 0..<CallTree.maximumLabels + 100 {
            stall.threadName = "\(number)"
            tree.add(StackPath(frames: [ExportFrame(name: "r")], nanoseconds: 2), count: 1, labels: StackLabels(stall))
        }
        #expect(tree.labels.count == CallTree.maximumLabels + 1)
        #expect(tree.samples.values.reduce(0) { $0 + $1.nanoseconds } == UInt64(CallTree.maximumLabels + 100) * 2)
        #expect(tree.samples[CallTree.Sample(node: 0, labels: 0)]?.count == 100)
    }

    private struct Field {
        let number: UInt64
        let content: ArraySlice<UInt8>
        var value: UInt64?
    }

    /// The fields of a protobuf message; nil if the bytes are not a message.
    private static func fields(_ bytes: ArraySlice<UInt8>) -> [Field]? {
        var rest = bytes
        var fields: [Field] = []
        while !rest.isEmpty {
            guard let tag = varint(&rest) else { return nil }
            switch tag & 7 {
            case 0:
                guard let value = varint(&rest) else { return nil }
                fields.append(Field(number: tag >> 3, content: [], value: value))
            case 2:
                guard let count = varint(&rest), count <= rest.count else { return nil }
                fields.append(Field(number: tag >> 3, content: rest.prefix(Int(count))))
                rest = rest.dropFirst(Int(count))
            default: return nil
            }
        }
        return fields
    }

    private static func numbers(_ bytes: ArraySlice<UInt8>) -> [UInt64] {
        var rest = bytes
        var numbers: [UInt64] = []
        while let number = varint(&rest) { numbers.append(number) }
        return numbers
    }

    private static func varint(_ rest: inout ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while let byte = rest.popFirst(), shift < 64 {
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }
}
