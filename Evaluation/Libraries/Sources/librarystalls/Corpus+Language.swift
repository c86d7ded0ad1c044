internal import CLibraryStalls

// What the Swift compiler and its runtime make of code: nothing of it may hide whose it is.

extension Corpus {
    static let language: [Scenario] = [
        Scenario(
            "arc-graph",
            ["cpu"],
            ["closeScene", "SceneNode.deinit", "SceneNode.__deallocating_deinit"],
            "the last reference to a large graph goes: who drops it, or the deinit that the compiler wrote",
            preparing: {
                let scene = SceneHolder()
                return { _ in closeScene(scene) }
            }
        ),
        Scenario(
            "deinit-chain",
            ["cpu"],
            ["Session.deinit", "Session.__deallocating_deinit"],
            caller: "endSessions",
            "a deinit of the program's own computes, one object after the other",
            endSessions
        ),
        Scenario(
            "generic-function",
            ["cpu"],
            ["mostFrequent"],
            caller: "makeHistogram",
            "a generic function, used with two types",
            makeHistogram
        ),
        Scenario(
            "protocol-witness",
            ["cpu"],
            ["Hexagon.area"],
            caller: "measureShapes",
            "a method by its protocol",
            measureShapes
        ),
        Scenario(
            "merged-functions",
            ["cpu"],
            ["scaleRed"],
            caller: "recolorRed",
            "two functions that the compiler makes one of: by its name it could be either",
            recolorRed
        ),
        Scenario(
            "merged-functions-other",
            ["cpu"],
            ["scaleBlue"],
            caller: "recolorBlue",
            "the other one of the two",
            recolorBlue
        ),
        Scenario(
            "inlined-swift",
            ["cpu"],
            ["blendPixels"],
            caller: "composeLayers",
            "a function that is inlined: debug information has its name",
            composeLayers
        ),
        Scenario(
            "one-of-two-closures",
            ["cpu"],
            ["closure #2 in makeHandlers"],
            caller: "routeRequest",
            "two handlers in one function",
            routeRequest
        ),
        Scenario(
            "computed-property",
            ["cpu"],
            ["Catalog.index.getter"],
            caller: "searchCatalog",
            "a getter that computes",
            searchCatalog
        ),
    ]
}

final class SceneNode {
    var children: [SceneNode] = []
    let label: String

    init(depth: Int) {
        label = "a label that is too long to be kept in place, \(depth)"
        if depth > 0 { children = (0..<8).map { _ in SceneNode(depth: depth - 1) } }
    }
}

// Sendable without a check: the main thread alone uses it.
final class SceneHolder: @unchecked Sendable {
    var roots = (0..<4).map { _ in SceneNode(depth: 7) }
}

@inline(never)
func closeScene(_ holder: SceneHolder) -> Int {
    holder.roots = []
    return 1
}

private nonisolated(unsafe) var sessionSum = 1

final class Session {
    let next: Session?

    init(next: Session?) { self.next = next }

    deinit {
        for round in 0..<20_000 { sessionSum = (sessionSum &* 31) ^ round }
    }
}

func endSessions(until end: moment) -> Int {
    while moment_now() < end {
        var list: Session?
        for _ in 0..<100 { list = Session(next: list) }
    }
    return sessionSum
}

@inline(never)
func mostFrequent<Value: Hashable>(_ values: [Value], until end: moment) -> Int {
    var most = 0
    repeat {
        var counts: [Value: Int] = [:]
        for value in values { counts[value, default: 0] += 1 }
        most = counts.values.max() ?? 0
    } while moment_now() < end
    return most
}

func makeHistogram(until end: moment) -> Int {
    mostFrequent((0..<300).map { $0 &* 7_919 % 17 }, until: end) + mostFrequent(["a", "b"].map { String($0) }, until: 0)
}

protocol Shape {
    func area(until end: moment) -> Double
}

struct Hexagon: Shape {
    func area(until end: moment) -> Double {
        var area = 1.0
        while moment_now() < end {
            for round in 1..<2_000 { area += 2.598 / Double(round) }
        }
        return area
    }
}

struct Point: Shape {
    func area(until end: moment) -> Double { 0 }
}

private nonisolated(unsafe) var shapes: [any Shape] = [Point(), Hexagon()]

func measureShapes(until end: moment) -> Int { Int(shapes.reduce(0) { $0 + $1.area(until: end) }) & 0xffff }

struct Channel {
    var sum = 1
    var last = 0
    var rounds = 0
}

// Alike but for the global that they change: the compiler makes one function of both, which gets its address.
private nonisolated(unsafe) var red = Channel()
private nonisolated(unsafe) var blue = Channel()

@inline(never)
func scaleRed(until end: moment) {
    while moment_now() < end {
        for round in 0..<2_000 {
            red.sum = (red.sum &* 31) ^ round
            red.last = max(red.last, red.sum & 0xff)
            red.rounds += 1
        }
    }
}

@inline(never)
func scaleBlue(until end: moment) {
    while moment_now() < end {
        for round in 0..<2_000 {
            blue.sum = (blue.sum &* 31) ^ round
            blue.last = max(blue.last, blue.sum & 0xff)
            blue.rounds += 1
        }
    }
}

func recolorRed(until end: moment) -> Int {
    scaleRed(until: end)
    return red.last
}

func recolorBlue(until end: moment) -> Int {
    scaleBlue(until: end)
    return blue.last
}

@inline(__always)
func blendPixels(_ start: Int, until end: moment) -> Int {
    var pixel = start
    while moment_now() < end {
        for round in 0..<2_000 { pixel = (pixel &* 69_069) ^ round }
    }
    return pixel
}

func composeLayers(until end: moment) -> Int { blendPixels(7, until: end) & 0xff }

typealias Handler = @Sendable (moment) -> Int

func makeHandlers() -> [Handler] {
    [
        { end in
            var state = 1
            while moment_now() < end {
                for round in 0..<2_000 { state = (state &* 41) ^ round }
            }
            return state
        },
        { end in
            var sum = 1.0
            while moment_now() < end {
                for round in 1..<2_000 { sum += 1 / Double(round) }
            }
            return Int(sum)
        },
    ]
}

private let handlers = makeHandlers()

func routeRequest(until end: moment) -> Int { handlers[1](end) & 0xffff }

struct Catalog {
    let end: moment

    var index: [Int] {
        var places = Array(0..<200)
        while moment_now() < end {
            for place in places.indices { places[place] = (places[place] &* 7_919 &+ 1) % 997 }
        }
        return places
    }
}

func searchCatalog(until end: moment) -> Int { Catalog(end: end).index.firstIndex(of: 5) ?? 0 }
