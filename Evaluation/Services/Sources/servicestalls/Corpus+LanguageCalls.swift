internal import Foundation
internal import Synchronization

// How functions of the program are called: closures, generics, protocols, overrides, globals.

extension Corpus {
    static let languageCalls: [Scenario] = [
        Scenario("sort-closure", "a sort that compares with Foundation", ["cpu"], ["Leaderboard.rank"]) {
            Leaderboard.rank((0..<300).map { "player \($0)" }, for: 470).count
        },
        Scenario("closure-property", "a handler in a dictionary", ["cpu"], ["EventTable.init"], callers: ["EventTable.fire"]) {
            EventTable().fire("resize", 340)
        },
        Scenario("local-function", "a local function that calls itself", ["cpu"], ["Planner.plan"]) { Planner.plan(9, for: 490) },
        Scenario(
            "autoclosure",
            "an argument that computes when it is used",
            ["cpu"],
            ["Defaults.compute"],
            callers: ["Defaults.read", "Defaults.fallback"]
        ) {
            Defaults.read(430)
        },
        Scenario(
            "rethrows",
            "a closure that a generic function calls repeatedly",
            ["syscall"],
            ["Gateway.charge"],
            callers: ["Attempts.times"]
        ) {
            try Gateway.charge(400)
        },
        Scenario("result-builder", "a part of a result builder's page", ["cpu"], ["Page.escape"], callers: ["Page.overview"]) {
            Page.overview(370).count
        },
        Scenario("existential", "a method called by its protocol", ["cpu"], ["HTMLRenderer.render"]) {
            let renderers: [any Renderer] = [TextRenderer(), HTMLRenderer(milliseconds: 530)]
            return renderers.reduce(0) { sum, renderer in sum + renderer.render((0..<200).map { "a & b \($0)" }).count }
        },
        Scenario("generic", "a generic function", ["cpu"], ["Pipeline.process"]) { Pipeline.process(0..<500, for: 440) },
        Scenario("parameter-pack", "a function with a parameter pack", ["cpu"], ["Pipeline.describe"]) {
            Pipeline.describe(1, 2.5, true, for: 420)
        },
        Scenario("opaque-sequence", "an iterator behind an opaque type", ["cpu"], ["Primes.next"], callers: ["Keys.generate"]) {
            Keys.generate(for: 420)
        },
        Scenario("lazy-chain", "lazy sequences", ["cpu"], ["Pipeline.squares"]) { Pipeline.squares(for: 390) },
        Scenario("override", "a method of a subclass", ["cpu"], ["Polygon.area"], callers: ["Shape.layout"]) {
            let shapes: [Shape] = [Polygon(430)]
            return Int(shapes[0].layout())
        },
        Scenario("inout", "an array that is changed in place", ["cpu"], ["Signal.normalise"]) {
            var samples = (0..<5_000).map(Double.init)
            Signal.normalise(&samples, for: 330)
            return Int(samples[3])
        },
        Scenario(
            "lazy-global",
            "the first use of a global, which initialises it",
            ["cpu"],
            ["WordTable.build"],
            callers: ["WordTable.lookup"]
        ) {
            WordTable.lookup("word7")
        },
        Scenario("crc-short", "slightly longer than the threshold", ["cpu"], ["Checksums.crc"]) {
            Int(Checksums.crc(Array(sampleText.utf8), for: 200))
        },
        Scenario("deep-recursion", "a call below three hundred others", ["syscall"], ["Descent.descend"]) {
            Descent.descend(300)
        },
    ]
}

private enum Leaderboard {
    @inline(never) static func rank(_ players: [String], for milliseconds: Int) -> [String] {
        let deadline = Deadline(milliseconds)
        var ranked = players
        while !deadline.isOver {
            ranked.shuffle()
            ranked.sort { $0.localizedStandardCompare($1) == .orderedAscending }
        }
        return ranked
    }
}

private final class EventTable {
    private var handlers: [String: (Int) -> Int] = [:]

    init() {
        handlers["resize"] = { milliseconds in
            let deadline = Deadline(milliseconds)
            var hash = 5_381
            while !deadline.isOver { for index in 0..<5_000 { hash = hash &* 33 ^ index } }
            return hash
        }
    }

    @inline(never) func fire(_ name: String, _ milliseconds: Int) -> Int { handlers[name]?(milliseconds) ?? 0 }
}

private enum Planner {
    @inline(never) static func plan(_ depth: Int, for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var best = Int.max
        func search(_ depth: Int, _ cost: Int) {
            if depth == 0 {
                best = min(best, cost)
                return
            }
            for way in 0..<4 { search(depth - 1, cost &+ (way &* depth) ^ cost) }
        }
        while !deadline.isOver { search(depth, 1) }
        return best
    }
}

private enum Defaults {
    @inline(never) static func fallback(_ value: Int?, _ other: @autoclosure () -> Int) -> Int { value ?? other() }
    @inline(never) static func read(_ milliseconds: Int) -> Int { fallback(Int("no number"), compute(milliseconds)) }
    @inline(never) static func compute(_ milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var value = 1
        while !deadline.isOver { for _ in 0..<1_000 { value = String(value).hashValue % 1_000 } }
        return value
    }
}

private enum Attempts {
    @inline(never) static func times<Value>(_ count: Int, _ body: (Int) throws -> Value) rethrows -> Value {
        for attempt in 0..<count { if let value = try? body(attempt) { return value } }
        return try body(count)
    }
}

struct Refused: Error {}

private enum Gateway {
    @inline(never) static func charge(_ milliseconds: Int) throws -> Int {
        try Attempts.times(3) { attempt in
            sleep(milliseconds: milliseconds)
            if attempt == 0 { return 1 }
            throw Refused()
        }
    }
}

@resultBuilder private enum Markup {
    static func buildBlock(_ parts: String...) -> String { parts.joined(separator: "\n") }
}

private enum Page {
    static func make(@Markup _ body: () -> String) -> String { body() }

    @inline(never) static func overview(_ milliseconds: Int) -> String {
        make {
            "<h1>"
            escape("Überblick 2026 und mehr 12345", for: milliseconds)
            "</h1>"
        }
    }

    @inline(never) static func escape(_ text: String, for milliseconds: Int) -> String {
        let deadline = Deadline(milliseconds)
        var escaped = ""
        while !deadline.isOver { escaped = text.unicodeScalars.map { $0.value < 64 ? "&#\($0.value);" : String($0) }.joined() }
        return escaped
    }
}

private protocol Renderer { func render(_ items: [String]) -> String }

private struct TextRenderer: Renderer { func render(_ items: [String]) -> String { items.joined() } }

private struct HTMLRenderer: Renderer {
    let milliseconds: Int
    @inline(never) func render(_ items: [String]) -> String {
        let deadline = Deadline(milliseconds)
        var list = ""
        while !deadline.isOver {
            list = items.map { "<li>" + $0.replacingOccurrences(of: "&", with: "&amp;") + "</li>" }.joined()
        }
        return list
    }
}

private enum Pipeline {
    @inline(never) static func process<Items: Sequence>(_ items: Items, for milliseconds: Int) -> Int
    where Items.Element: Hashable & CustomStringConvertible {
        let deadline = Deadline(milliseconds)
        var (seen, bytes): (Set<Items.Element>, Int) = ([], 0)
        while !deadline.isOver {
            for item in items {
                seen.insert(item)
                bytes += item.description.utf8.count
            }
        }
        return bytes + seen.count
    }

    @inline(never) static func describe<each Value: CustomStringConvertible>(_ values: repeat each Value, for milliseconds: Int)
        -> Int
    {
        let deadline = Deadline(milliseconds)
        var bytes = 0
        while !deadline.isOver { for _ in 0..<100 { for value in repeat each values { bytes += value.description.utf8.count } } }
        return bytes
    }

    @inline(never) static func squares(for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var sum = 0
        while !deadline.isOver { sum &+= (0..<20_000).lazy.filter { $0 % 3 == 0 }.map { $0 &* $0 }.reduce(0, &+) }
        return sum
    }
}

private struct Primes: Sequence, IteratorProtocol {
    var last: Int
    @inline(never) mutating func next() -> Int? {
        while true {
            last += 1
            if !(2..<last).contains(where: { last % $0 == 0 }) { return last }
        }
    }
}

private enum Keys {
    static func candidates() -> some Sequence<Int> { Primes(last: 20_000) }
    @inline(never) static func generate(for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var key = 0
        for prime in candidates() {
            key ^= prime
            if deadline.isOver { break }
        }
        return key
    }
}

private class Shape {
    let deadline: Deadline
    init(_ milliseconds: Int) { deadline = Deadline(milliseconds) }
    @inline(never) func area() -> Double { 0 }
    @inline(never) func layout() -> Double { area() / 1e300 }
}

private final class Polygon: Shape {
    private let points = (0..<3_000).map { Double($0) }
    @inline(never) override func area() -> Double {
        var sum = super.area()
        while !deadline.isOver { for index in 1..<points.count { sum += points[index] * points[index - 1] } }
        return sum
    }
}

private enum Signal {
    @inline(never) static func normalise(_ samples: inout [Double], for milliseconds: Int) {
        let deadline = Deadline(milliseconds)
        while !deadline.isOver {
            let mean = samples.reduce(0, +) / Double(samples.count)
            for index in samples.indices { samples[index] = (samples[index] - mean) * 0.999 }
        }
    }
}

private enum WordTable {
    static let words: [String: Int] = build()

    @inline(never) static func build() -> [String: Int] {
        let deadline = Deadline(420)
        var words: [String: Int] = [:]
        while !deadline.isOver { for number in 0..<1_000 { words["word\(number)", default: 0] += number } }
        return words
    }

    @inline(never) static func lookup(_ word: String) -> Int { words[word] ?? 0 }
}

private enum Checksums {
    @inline(never) static func crc(_ data: [UInt8], for milliseconds: Int) -> UInt32 {
        let deadline = Deadline(milliseconds)
        var sum: UInt32 = 0
        while !deadline.isOver { for byte in data { sum = (sum >> 1) ^ (sum & 1 == 0 ? UInt32(byte) : 0xEDB8_8320) } }
        return sum
    }
}

private enum Descent {
    @inline(never) static func descend(_ depth: Int) -> Int {
        guard depth > 0 else {
            sleep(milliseconds: 430)
            return 1
        }
        return descend(depth - 1) &+ depth
    }
}
