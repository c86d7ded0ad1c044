internal import LagMonitor
internal import StallFixtures

// The main thread computes in code of many forms: the compiler's output must not hide which function the code belongs to.

extension Corpus {
    static let shapes: [Scenario] = [
        Scenario("closure", [.cpu], ["closure #2 in runFilters"], "a closure that is kept in a list and called through it") {
            runFilters(until: $0)
        },
        Scenario("generic", [.cpu], ["largestByScan"], "a generic function") {
            largestByScan([3.5, 9.25, 1.0, 7.75], until: $0) + largestByScan(["pear", "fig"], until: .now)
        },
        Scenario("method", [.cpu], ["BitmapRenderer.draw"], "a class's method, called through a protocol") {
            drawEverything([BitmapRenderer(), EmptyRenderer()], until: $0)
        },
        Scenario(
            "async-main-actor",
            [.cpu],
            ["refreshTimeline"],
            "an async function on the main actor, after an await",
            preparing: {
                .mainActor { await refreshTimeline(until: $0) }
            }
        ),
        Scenario("recursion-deep", [.cpu], ["walkTree"], "recursion, 80 deep") { walkTree(80, until: $0) },
        Scenario(
            "recursion-mutual",
            [.cpu],
            ["parseList", "parseItem"],
            "two functions that call each other: either"
        ) { parseList(40, until: $0) },
        Scenario("c-without-frame-pointers", [.cpu], ["corpus_digest"], "C compiled without frame pointers") {
            digestUpload(until: $0)
        },
        Scenario(
            "c-calls-back",
            [.cpu],
            ["scoreRow"],
            "own code that is called by C without frame pointers: the stack continues beyond it"
        ) { scoreRows(until: $0) },
    ]
}

typealias Filter = @Sendable (MonotonicTime) -> Int

@inline(never)
func runFilters(until end: MonotonicTime) -> Int {
    let filters: [Filter] = [
        { _ in 1 },
        { end in
            var state: UInt64 = 1
            while MonotonicTime.now < end {
                for _ in 0..<500 {
                    state ^= state << 13
                    state ^= state >> 7
                    state ^= state << 17
                }
            }
            return Int(truncatingIfNeeded: state)
        },
    ]
    return apply(filters, until: end)
}

@inline(never)
func apply(_ filters: [Filter], until end: MonotonicTime) -> Int { filters.reduce(0) { $0 &+ $1(end) } }

@inline(never)
func largestByScan<Value: Comparable>(_ values: [Value], until end: MonotonicTime) -> Int {
    var place = 0
    var rounds = 0
    repeat {
        for _ in 0..<500 {
            for index in values.indices where values[index] > values[place] { place = index }
        }
        rounds += 1
    } while MonotonicTime.now < end
    return place &+ rounds
}

protocol Renderer {
    func draw(until end: MonotonicTime) -> Int
}

final class BitmapRenderer: Renderer {
    func draw(until end: MonotonicTime) -> Int {
        var pixel = 1
        while MonotonicTime.now < end {
            for index in 0..<2_000 { pixel = (pixel &* 31) ^ index }
        }
        return pixel
    }
}

final class EmptyRenderer: Renderer {
    func draw(until end: MonotonicTime) -> Int { 0 }
}

@inline(never)
func drawEverything(_ renderers: [any Renderer], until end: MonotonicTime) -> Int {
    renderers.reduce(0) { $0 &+ $1.draw(until: end) }
}

@MainActor @inline(never)
func refreshTimeline(until end: MonotonicTime) async -> Int {
    await Task.yield()
    var hash = 5_381
    while MonotonicTime.now < end {
        for index in 0..<2_000 { hash = (hash &* 33) ^ index }
    }
    return hash
}

/// Does a little work on the way down, and the rest at the bottom.
@inline(never)
func walkTree(_ depth: Int, until end: MonotonicTime) -> Int {
    var sum = 0
    repeat {
        for index in 0..<200 { sum = (sum &* 7) ^ index }
    } while depth == 0 && MonotonicTime.now < end
    return depth == 0 ? sum : walkTree(depth - 1, until: end) &+ sum
}

@inline(never)
func parseList(_ depth: Int, until end: MonotonicTime) -> Int {
    var sum = depth
    repeat {
        for index in 0..<200 { sum = (sum &* 5) ^ index }
    } while depth == 0 && MonotonicTime.now < end
    return depth == 0 ? sum : parseItem(depth - 1, until: end) &+ sum
}

@inline(never)
func parseItem(_ depth: Int, until end: MonotonicTime) -> Int {
    var sum = depth
    repeat {
        for index in 0..<200 { sum = (sum &* 3) ^ index }
    } while depth == 0 && MonotonicTime.now < end
    return depth == 0 ? sum : parseList(depth - 1, until: end) &+ sum
}

@inline(never)
func digestUpload(until end: MonotonicTime) -> Int {
    let upload = [UInt8](repeating: 0xa5, count: 65_536)
    return Int(truncatingIfNeeded: corpus_digest(upload, upload.count, end.nanoseconds))
}

@inline(never)
func scoreRows(until end: MonotonicTime) -> Int {
    var deadline = end
    return withUnsafeMutableBytes(of: &deadline) { bytes in
        Int(corpus_for_each(3, { context, index in Int64(scoreRow(index, context)) }, bytes.baseAddress))
    }
}

@inline(never)
func scoreRow(_ index: Int, _ context: UnsafeMutableRawPointer?) -> Int {
    guard index == 1, let end = context?.load(as: MonotonicTime.self) else { return index }
    var score = 1
    while MonotonicTime.now < end {
        for step in 0..<2_000 { score = (score &* 17) ^ step }
    }
    return score & 0xffff
}
