import LagModel
import TestSupport
import Testing

@testable import LagReader
@testable import lagfuzz

/// No content of a file crashes the program.
struct HostileInputTests {
    @Test(arguments: SeededGenerator.seeds(1, 2)) func `mutated lines cause no crash`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let tree =
            #","sample_tree":[{"ms":400.0,"samples":3,"frames":["main"],"children":[{"ms":3.0,"samples":2,"frames":["g"]}]}]}"#
        let lines = [Samples.end, Samples.begin, String(Samples.end.dropLast()) + tree].map { Array($0.utf8) }
        let tokens = [
            #"""#, "\\", "{", "}", "[", "]", ",", ":", "\\u0000", "\\ud800", "1e999", "-", "0x", "null", "{}", "[]",
            "99999999999999999999999",
        ]
        .map { Array($0.utf8) }
        for _ in 0..<500 {
            var line = lines.randomElement(using: &generator)!
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0..<line.count, using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: line[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: line.insert(contentsOf: tokens.randomElement(using: &generator)!, at: place)
                case 2: line.removeSubrange(place..<min(line.count, place + Int.random(in: 1...20, using: &generator)))
                case 3: line = Array(line.prefix(place))
                default:
                    let from = Int.random(in: 0..<line.count, using: &generator)
                    line.insert(contentsOf: line[from..<min(line.count, from + 30)], at: place)
                }
                if line.isEmpty { line = [0x7b] }
            }
            LinesTarget.readEverything(line)
        }
    }

    @Test(arguments: SeededGenerator.seeds(1)) func `random bytes cause no crash`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for length in 0..<400 {
            LinesTarget.readEverything((0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) })
            LinesTarget.readEverything(
                Array("{\"id\":".utf8)
                    + (0..<length).map { _ in Array(#"{}[]",:\u1e-. "#.utf8).randomElement(using: &generator)! }
            )
        }
    }

    /// Numbers at the limits of what can be written.
    @Test(arguments: [
        "0.0", "1e308", "18446744073709551615.0", "99999999999999999999999999.9", "1e-400", "0.00000000000000000000001",
    ])
    func `extreme numbers cause no crash`(figure: String) {
        let lines = (0..<3).map { Samples.line(id: Samples.id($0), milliseconds: figure, time: "2261-12-31T23:59:60.999999999Z") }
        let deduplicator = StallDeduplicator()
        var grouping = StallGrouping(by: .fingerprint, deduplicator: deduplicator)
        for line in lines { Array(line.utf8).withUnsafeBytes { grouping.take($0) } }
        let group = grouping.finish().table.groups.first
        #expect(group?.count == 3)
        #expect((group?.nanoseconds(atShare: 0.5) ?? 1) <= (group?.worstNanoseconds ?? 0))
    }

    @Test(arguments: SeededGenerator.seeds(1, 2)) func `damaged gzip data causes no crash`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
        defer { buffer.deallocate() }
        for _ in 0..<100 {
            var bytes = Gzip.compressed(Array(Samples.end.utf8))!
            for _ in 0..<3 {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            let source = GzipSource(MemorySource(bytes + bytes, step: 50), name: "f")
            while let count = try? source.read(into: buffer), count > 0 {}
        }
    }
}
