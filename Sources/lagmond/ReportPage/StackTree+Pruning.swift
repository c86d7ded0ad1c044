internal import LagModel

/// A call tree of one group that is small enough to be shown: parents first, the heaviest child first.
struct PrunedTree {
    struct Node {
        /// Index in the tree; -1: a root.
        let parent: Int
        let frame: StackTree.Frame
        /// Including all descendants.
        let nanoseconds: UInt64
        let ownNanoseconds: UInt64
        /// The time of pruned children.
        let prunedNanoseconds: UInt64
        let prunedCount: Int
    }

    private(set) var nodes: [Node] = []
    private(set) var prunedCount = 0

    /// - Parameter members: the group's nodes in `tree`, parents first.
    init(_ tree: StackTree, members: [Int], limit: Int) {
        var weights: [Int: UInt64] = [:]
        var depths: [Int: Int] = [:]
        for index in members {
            weights[index] = tree.nodes[index].nanoseconds
            depths[index] = (depths[Int(tree.nodes[index].parent)] ?? -1) + 1
        }
        for index in members.reversed() {
            let parent = Int(tree.nodes[index].parent)
            let weight = weights[index] ?? 0
            if parent >= 0 { weights[parent]?.addSaturated(weight) }
        }
        let rank = { (index: Int) in Rank(weight: weights[index] ?? 0, depth: depths[index] ?? 0) }
        let ranks = members.map(rank).sorted()
        // Nodes of equal rank at the limit are treated alike, so that the result does not depend on the order of reading.
        let last = ranks.count > limit ? ranks[limit] : nil
        var children: [Int: [Int]] = [:]
        for index in members { children[Int(tree.nodes[index].parent), default: []].append(index) }

        /// Recurses down a branch, at most ``StackPath/maximumFrames`` deep.
        func write(_ index: Int, _ parent: Int) {
            let place = nodes.count
            let below = (children[index] ?? []).sorted { one, other in
                let (left, right) = (weights[one] ?? 0, weights[other] ?? 0)
                if left != right { return left > right }
                let (first, second) = (frame(one), frame(other))
                return (first.name, first.origin.rawValue) < (second.name, second.origin.rawValue)
            }
            let kept = below.filter { child in last.map { rank(child) < $0 } ?? true }
            let left = below.filter { child in last.map { rank(child) >= $0 } ?? false }
            prunedCount += left.reduce(0) { $0 + size(of: $1) }
            nodes.append(
                Node(
                    parent: parent,
                    frame: index < 0 ? Self.root : frame(index),
                    nanoseconds: index < 0 ? below.reduce(0) { $0 &+ (weights[$1] ?? 0) } : weights[index] ?? 0,
                    ownNanoseconds: index < 0 ? 0 : tree.nodes[index].nanoseconds,
                    prunedNanoseconds: left.reduce(0) { $0 &+ (weights[$1] ?? 0) },
                    prunedCount: left.count
                )
            )
            for child in kept { write(child, place) }
        }
        func frame(_ index: Int) -> StackTree.Frame { tree.frames[Int(tree.nodes[index].frame)] }
        func size(of index: Int) -> Int { (children[index] ?? []).reduce(1) { $0 + size(of: $1) } }
        write(-1, -1)
    }

    private static let root = StackTree.Frame(name: "all", module: "", origin: .unknown)

    /// Higher-ranked nodes are heavier, or equally heavy and nearer to the root.
    private struct Rank: Comparable {
        let weight: UInt64
        let depth: Int

        static func < (one: Rank, other: Rank) -> Bool {
            one.weight != other.weight ? one.weight > other.weight : one.depth < other.depth
        }
    }
}
