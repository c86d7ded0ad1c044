package import LagModel

/// The merged call tree of all samples of a stalled thread: which function called which, for how long.
///
/// Pure; any thread. Takes time in proportion to the number of frames, memory to the number of different ones.
package struct SampleTree: Sendable, Equatable {
    /// At most this many frames of a stack, nearest to the leaf, are in the tree.
    package static let maximumDepth = 512

    /// The heaviest first. There are several if stacks do not begin with the same function.
    package let roots: [StallRecord.SampleNode]
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
}

/// The tree with one function a node, while stacks are added.
private struct SampleTrie {
    private struct Entry {
        let function: String
        var weightNanoseconds: UInt64 = 0
        var samples: UInt64 = 0
        var children: [String: Int] = [:]
    }

    /// The first entry is the parent of all roots.
    private var entries = [Entry(function: "")]

    var weightNanoseconds: UInt64 { entries[0].weightNanoseconds }
    var nodes: [StallRecord.SampleNode] { children(of: 0) }

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

    private func children(of index: Int) -> [StallRecord.SampleNode] {
        let sorted = entries[index].children.values.sorted { left, right in
            let (left, right) = (entries[left], entries[right])
            if left.weightNanoseconds != right.weightNanoseconds { return left.weightNanoseconds > right.weightNanoseconds }
            if left.samples != right.samples { return left.samples > right.samples }
            return left.function < right.function
        }
        return sorted.map(node)
    }

    /// The node that begins at `index` and extends to the next fork. So the recursion depth here is the number of forks, which is
    /// smaller than the number of stacks.
    private func node(_ index: Int) -> StallRecord.SampleNode {
        var last = index
        var frames = [entries[index].function]
        while entries[last].children.count == 1, let next = entries[last].children.first?.value,
            entries[next].weightNanoseconds == entries[index].weightNanoseconds,
            entries[next].samples == entries[index].samples
        {
            last = next
            frames.append(entries[last].function)
        }
        return StallRecord.SampleNode(
            weightNanoseconds: entries[index].weightNanoseconds,
            samples: entries[index].samples,
            frames: frames,
            children: children(of: last)
        )
    }
}
