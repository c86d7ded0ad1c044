import Foundation
import LagOutput
import Testing

struct SampleTreeWriterTests {
    private typealias Node = StallRecord.SampleNode

    private func node(_ weight: UInt64, _ frames: [String], _ children: [StallRecord.SampleNode] = []) -> StallRecord.SampleNode {
        Node(weightNanoseconds: weight * 1_000_000, samples: weight, frames: frames, children: children)
    }

    private func line(_ roots: [StallRecord.SampleNode], maxBytes: Int) -> (text: String, nodes: Int) {
        var writer = JSONLineWriter()
        let nodes = writer.writeSampleTree(roots, maxBytes: maxBytes)
        return (writer.withBytes { String(decoding: $0, as: UTF8.self) }, nodes)
    }

    /// A tree with `width` children per node and `levels` levels, with decreasing weights.
    private func tree(width: UInt64, levels: Int, weight: UInt64 = 1_000_000) -> StallRecord.SampleNode {
        let children = levels > 1 ? (1...width).map { tree(width: width, levels: levels - 1, weight: weight / (width + $0)) } : []
        return node(weight, ["level\(levels)", "App.function\(weight)"], children)
    }

    private func parsed(_ text: String) throws -> [[String: Any]] {
        let object = try JSONSerialization.jsonObject(with: Data("{\(text)}".utf8)) as? [String: Any]
        return try #require(object?["sample_tree"] as? [[String: Any]])
    }

    private func weights(_ nodes: [[String: Any]]) -> [Double] {
        nodes.flatMap { [$0["ms"] as? Double ?? -1] + weights($0["children"] as? [[String: Any]] ?? []) }
    }

    @Test func `the sample tree is written as expected`() {
        let tree = node(12, ["main", "App.f"], [node(7, ["g"]), node(5, ["h\"x"])])
        #expect(
            line([tree], maxBytes: 1000).text
                == #""sample_tree":[{"ms":12.000,"samples":12,"frames":["main","App.f"],"children":["#
                + #"{"ms":7.000,"samples":7,"frames":["g"]},{"ms":5.000,"samples":5,"frames":["h\"x"]}]}]"#
        )
    }

    @Test func `the lightest branches are pruned first and their weight is reported`() throws {
        let tree = node(12, ["main"], [node(7, ["g"], [node(1, ["deep"])]), node(5, ["h"])])
        let whole = line([tree], maxBytes: .max)
        #expect(whole.nodes == 4)
        let less = line([tree], maxBytes: whole.text.utf8.count - 1)
        #expect(less.nodes == 3)
        #expect(try weights(parsed(less.text)) == [12, 7, 5])
        #expect(less.text.contains(#""frames":["g"],"pruned_ms":1.000"#))
        let least = line([tree], maxBytes: less.text.utf8.count - 1)
        #expect(try weights(parsed(least.text)) == [12, 7])
        #expect(least.text.hasSuffix(#""pruned_ms":5.000}]"#))
    }

    @Test func `the tree fits into any number of bytes and keeps the heaviest nodes`() throws {
        let tree = tree(width: 3, levels: 6)
        let whole = line([tree], maxBytes: .max)
        let all = try weights(parsed(whole.text)).sorted(by: >)
        #expect(all.count == 364)
        var before = 0
        for bytes in stride(from: 0, through: whole.text.utf8.count, by: 397) {
            let (text, nodes) = line([tree], maxBytes: bytes)
            #expect(text.utf8.count <= bytes)
            #expect((nodes == 0) == text.isEmpty)
            guard nodes > 0 else { continue }
            #expect(try weights(parsed(text)).sorted(by: >) == Array(all.prefix(nodes)))
            #expect(nodes >= before)
            before = nodes
        }
        #expect(before > 300)
    }

    @Test func `a long chain of frames keeps its leaf side when space is short`() throws {
        let names = (0..<200).map { "Application.Worker\($0).function" }
        let (text, nodes) = line([node(3, names)], maxBytes: 500)
        #expect(nodes == 1)
        let written = try #require(parsed(text).first)
        #expect(written["frames"] as? [String] == Array(names.suffix(8)))
        #expect(written["frames_total"] as? Int == 200)
        #expect(text.utf8.count <= 500)
    }

    @Test func `a tree after another field includes its comma in the size`() {
        for room in [60, 61, 62, 63, 64] {
            var writer = JSONLineWriter()
            writer.beginObject()
            writer.key("a")
            writer.value(UInt64(1))
            let before = writer.count
            let nodes = writer.writeSampleTree([node(1, ["f"])], maxBytes: room)
            #expect(writer.count - before <= room)
            writer.key("z")
            writer.value(UInt64(2))
            writer.endObject()
            let text = writer.withBytes { String(decoding: $0, as: UTF8.self) }
            #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
            #expect(text.contains("sample_tree") == (nodes == 1))
        }
    }

    @Test func `the nesting depth stays within the limits of JSON readers`() throws {
        var deep = node(1, ["leaf"])
        for level in 0..<100 { deep = node(1, ["f\(level)"], [deep]) }
        let (text, nodes) = line([deep], maxBytes: .max)
        #expect(nodes == JSONLineWriter.maximumSampleLevels)
        // The bracket of the record is the first.
        var depth = 1
        var deepest = 1
        for byte in text.utf8 {
            if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "{") { depth += 1 }
            if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") { depth -= 1 }
            deepest = max(deepest, depth)
        }
        #expect(deepest <= 31)
        #expect(text.contains("pruned_ms"))
    }

    @Test func `an empty tree writes nothing`() {
        #expect(line([], maxBytes: 1000).text == "")
        #expect(line([node(1, ["f"])], maxBytes: 0).text == "")
    }

    @Test func `symbol names in the tree are cut`() throws {
        let (text, _) = line([node(1, [String(repeating: "é", count: 500)])], maxBytes: .max)
        let frames = try #require(parsed(text).first?["frames"] as? [String])
        #expect(frames[0].utf8.count <= LineLimits.maximumSymbolBytes)
    }
}
