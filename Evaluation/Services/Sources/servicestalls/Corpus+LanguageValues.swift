internal import Dispatch
internal import Foundation

// Code of the program's types that runs when values are compared, described, read and released: the generated code around it must
// not hide which function it belongs to.

extension Corpus {
    static let languageValues: [Scenario] = [
        Scenario("bad-hash", "keys with equal hashes", ["cpu"], ["SessionKey.==", "SessionIndex.rebuild"]) {
            SessionIndex.rebuild(for: 550)
        },
        .service(
            "deinit-graph",
            "the last reference to a graph is released",
            ["cpu"],
            ["Scene.clear", "SceneNode.deinit", "SceneNode.__deallocating_deinit"]
        ) {
            // Created on an unwatched thread, because that takes longer.
            Thread.detachNewThread {
                // Unchecked: only the block uses it from now on.
                nonisolated(unsafe) let scene = Scene()
                DispatchQueue.main.async {
                    StalledTime.begin()
                    keep(scene.clear())
                    StalledTime.end()
                }
            }
        },
        Scenario(
            "noncopyable-deinit",
            "a deinit of a struct waits",
            ["syscall"],
            ["LockFile.release"],
            callers: ["LockFile.deinit", "Guarded.work"]
        ) {
            Guarded.work()
        },
        Scenario(
            "comparable",
            "a comparison that splits strings",
            ["cpu"],
            ["Version.parts"],
            callers: ["Version.<", "Releases.newest"]
        ) {
            Releases.newest((0..<200).map { Version(text: "1.\($0).\($0 % 7)") }, for: 480)
        },
        Scenario(
            "description",
            "a description that is written into a string",
            ["cpu"],
            ["Row.padded"],
            callers: ["Row.description.getter"]
        ) {
            let (rows, deadline) = ((0..<40).map(Row.init), Deadline(440))
            var bytes = 0
            while !deadline.isOver { bytes += "\(rows)".utf8.count }
            return bytes
        },
        Scenario("interpolation", "structs that Swift describes", ["cpu"], ["Inspector.describe"]) {
            Inspector.describe(for: 420)
        },
        Scenario("mirror", "reflection", ["cpu"], ["Inspector.reflect"]) { Inspector.reflect(for: 390) },
        Scenario(
            "indirect-enum",
            "recursion through a tree of enums",
            ["cpu"],
            ["Expression.evaluate"],
            callers: ["Calculator.calculate"]
        ) {
            Calculator.calculate(for: 480)
        },
    ]
}

let sampleText = String(repeating: "Zażółć gęślą jaźń 👨‍👩‍👧‍👦 e\u{301} the quick brown fox. ", count: 500)

private struct SessionKey: Hashable {
    let user: String
    let session: Int
    func hash(into hasher: inout Hasher) { hasher.combine(7) }
    static func == (one: SessionKey, other: SessionKey) -> Bool { one.user == other.user && one.session == other.session }
}

private enum SessionIndex {
    @inline(never) static func rebuild(for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var index: [SessionKey: Int] = [:]
        while !deadline.isOver { index[SessionKey(user: "user", session: index.count)] = 1 }
        return index.count
    }
}

private final class SceneNode {
    let children: [SceneNode]
    let name: String

    init(_ depth: Int) {
        name = "a node of depth \(depth) with a long name"
        children = depth == 0 ? [] : (0..<6).map { _ in SceneNode(depth - 1) }
    }
}

private final class Scene {
    private var root: SceneNode? = SceneNode(8)
    @inline(never) func clear() -> Int {
        root = nil
        return 1
    }
}

private struct LockFile: ~Copyable {
    let path: String
    init(_ path: String) { self.path = path }
    deinit { LockFile.release(path) }
    @inline(never) static func release(_ path: String) { sleep(milliseconds: 410) }
}

private enum Guarded {
    @inline(never) static func work() -> Int {
        let file = LockFile("/run/lock/orders")
        return file.path.count
    }
}

private struct Version: Comparable {
    let text: String
    static func < (one: Version, other: Version) -> Bool { parts(one.text).lexicographicallyPrecedes(parts(other.text)) }
    @inline(never) static func parts(_ text: String) -> [Int] { text.split(separator: ".").map { Int($0) ?? 0 } }
}

private enum Releases {
    @inline(never) static func newest(_ all: [Version], for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var versions = all
        while !deadline.isOver {
            versions.shuffle()
            versions.sort()
        }
        return versions[0].text.count
    }
}

private struct Row: CustomStringConvertible {
    let number: Int
    var description: String { "row " + Row.padded(number) }
    @inline(never) static func padded(_ number: Int) -> String { String(repeating: "0", count: 2_000) + String(number) }
}

private enum Inspector {
    struct Order {
        var number = 1
        var customer = "x"
        var lines = [1, 2, 3]
        var prices = ["k": 2.5]
        var note: Any = 3
    }

    @inline(never) static func describe(for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var characters = 0
        while !deadline.isOver { characters += "\((0..<50).map { _ in Order() })".count }
        return characters
    }

    @inline(never) static func reflect(for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var characters = 0
        while !deadline.isOver { for child in Mirror(reflecting: Order()).children { characters += child.label?.count ?? 0 } }
        return characters
    }
}

private indirect enum Expression {
    case leaf(Int)
    case sum(Expression, Expression)

    static func tree(_ depth: Int) -> Expression { depth == 0 ? .leaf(1) : .sum(tree(depth - 1), tree(depth - 1)) }

    @inline(never) static func evaluate(_ expression: Expression) -> Int {
        switch expression {
        case .leaf(let number): number
        case .sum(let left, let right): evaluate(left) &+ evaluate(right)
        }
    }
}

private enum Calculator {
    @inline(never) static func calculate(for milliseconds: Int) -> Int {
        let (expression, deadline) = (Expression.tree(14), Deadline(milliseconds))
        var sum = 0
        while !deadline.isOver { sum &+= Expression.evaluate(expression) }
        return sum
    }
}
