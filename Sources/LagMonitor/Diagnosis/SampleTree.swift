internal import LagModel

/// The merged call tree of all samples of a stalled thread: who called what, for how long.
///
/// Pure; any thread. Takes time in proportion to the number of frames, memory to the number of different ones.
package struct SampleTree: Sendable, Hashable {
    /// A run of calls that all samples through here share.
    package struct Node: Sendable, Hashable {
        /// The time of the stall that the samples through here cover.
        package let weightNanoseconds: UInt64
        /// How many samples went through here.
        package let samples: UInt64
        /// The functions, root to leaf; each but the last called only the next one, all the time.
        package let frames: [String]
        /// What the last function called, the heaviest first.
        package let children: [Node]
        /// The weight of children that were left out.
        package let prunedNanoseconds: UInt64
    }

    /// Of a stack, at most this many frames nearest to the leaf are in the tree.
    package static let maximumDepth = 512

    /// The heaviest first. More than one where stacks do not begin with the same function.
    package let roots: [Node]
    /// The weight of all stacks.
    package let weightNanoseconds: UInt64

    package init(stacks: [CulpritStack]) {
        var trie = SampleTrie()
        for stack in stacks where !stack.frames.isEmpty {
            trie.insert(
                stack.frames.prefix(Self.maximumDepth).reversed().map(\.function),
                weightNanoseconds: stack.weightNanoseconds,
                samples: stack.samples
            )
        }
        roots = trie.nodes
        weightNanoseconds = trie.weightNanoseconds
    }

    private init(roots: [Node], weightNanoseconds: UInt64) {
        self.roots = roots
        self.weightNanoseconds = weightNanoseconds
    }

    /// Without what weighs less than `share` (0…1) of the whole; each node says how much it lost.
    package func pruned(below share: Double) -> SampleTree {
        let least = Double(weightNanoseconds) * share
        return SampleTree(roots: Self.pruned(roots, least: least).kept, weightNanoseconds: weightNanoseconds)
    }

    /// The roots as values of another type, made from the leaves upward: of each node its weight, samples, frames, the
    /// children made before, and the weight of those left out.
    package func map<Value>(
        _ make: (_ weightNanoseconds: UInt64, _ samples: UInt64, [String], _ children: [Value], _ pruned: UInt64) -> Value
    ) -> [Value] {
        func value(_ node: Node) -> Value {
            make(node.weightNanoseconds, node.samples, node.frames, node.children.map(value), node.prunedNanoseconds)
        }
        return roots.map(value)
    }

    private static func pruned(_ nodes: [Node], least: Double) -> (kept: [Node], lost: UInt64) {
        var kept: [Node] = []
        var lost: UInt64 = 0
        for node in nodes {
            guard Double(node.weightNanoseconds) >= least else {
                lost = lost.saturatingSum(node.weightNanoseconds)
                continue
            }
            let below = pruned(node.children, least: least)
            kept.append(
                Node(
                    weightNanoseconds: node.weightNanoseconds,
                    samples: node.samples,
                    frames: node.frames,
                    children: below.kept,
                    prunedNanoseconds: node.prunedNanoseconds.saturatingSum(below.lost)
                )
            )
        }
        return (kept, lost)
    }
}

/// A tree with a function a node, while stacks are added.
private struct SampleTrie {
    private struct Entry {
        let function: String
        var weightNanoseconds: UInt64 = 0
        var samples: UInt64 = 0
        var children: [String: Int] = [:]
    }

    /// The first stands above all roots.
    private var entries = [Entry(function: "")]

    var weightNanoseconds: UInt64 { entries[0].weightNanoseconds }
    var nodes: [SampleTree.Node] { children(of: 0) }

    /// - Parameter functions: root first.
    mutating func insert(_ functions: [String], weightNanoseconds: UInt64, samples: UInt64) {
        var index = 0
        count(weightNanoseconds, samples, at: index)
        for function in functions {
            if let next = entries[index].children[function] {
                index = next
            } else {
                entries[index].children[function] = entries.count
                index = entries.count
                entries.append(Entry(function: function))
            }
            count(weightNanoseconds, samples, at: index)
        }
    }

    private mutating func count(_ weight: UInt64, _ samples: UInt64, at index: Int) {
        entries[index].weightNanoseconds = entries[index].weightNanoseconds.saturatingSum(weight)
        entries[index].samples += samples
    }

    private func children(of index: Int) -> [SampleTree.Node] {
        let sorted = entries[index].children.values.sorted { left, right in
            let (left, right) = (entries[left], entries[right])
            if left.weightNanoseconds != right.weightNanoseconds { return left.weightNanoseconds > right.weightNanoseconds }
            if left.samples != right.samples { return left.samples > right.samples }
            return left.function < right.function
        }
        return sorted.map(node)
    }

    /// The node that begins at `index` and goes on as long as nothing parts from it. So the depth of calls here is that of the
    /// forks, of which there are fewer than stacks.
    private func node(_ index: Int) -> SampleTree.Node {
        var last = index
        var frames = [entries[index].function]
        while entries[last].children.count == 1, let next = entries[last].children.first?.value,
            entries[next].weightNanoseconds == entries[index].weightNanoseconds,
            entries[next].samples == entries[index].samples
        {
            last = next
            frames.append(entries[last].function)
        }
        return SampleTree.Node(
            weightNanoseconds: entries[index].weightNanoseconds,
            samples: entries[index].samples,
            frames: frames,
            children: children(of: last),
            prunedNanoseconds: 0
        )
    }
}
