internal import LagModel

/// Stacks of many stalls, merged from the root on; a bounded number of nodes.
struct CallTree {
    /// About 200 bytes each. What comes when it is full ends at the last frame that is known.
    static let maximumNodes = 400_000

    struct Node {
        /// Negative: a root; -1 - index of its labels.
        let parent: Int
        /// Index into ``CallTree/frames``.
        let frame: Int
        /// What was spent here and not further down.
        var nanoseconds: UInt64 = 0
        var count: UInt64 = 0
    }

    private(set) var frames: [ExportFrame] = []
    private(set) var nodes: [Node] = []
    /// Those of the stalls; the roots of each are its own. First come none.
    private(set) var labels = [RecordLabels.none]
    /// Sets of labels that have roots of their own; with more, stacks lose theirs.
    static let maximumLabels = 1000
    /// Ways that found no place.
    private(set) var shortened = 0
    private var frameIndices: [String: Int] = [:]
    private var children: [Key: Int] = [:]

    private struct Key: Hashable {
        let parent: Int
        let frame: Int
    }

    /// - Parameter labels: what stalls of others are not to be merged with.
    mutating func add(_ path: StackPath, count: UInt64, labels: RecordLabels = .none) {
        var place = -1 - index(of: labels)
        for frame in path.frames {
            guard let next = child(of: place, frame) else {
                shortened += 1
                break
            }
            place = next
        }
        guard place >= 0 else { return }
        nodes[place].nanoseconds.addSaturated(path.nanoseconds)
        nodes[place].count += count
    }

    private mutating func index(of labels: RecordLabels) -> Int {
        if let index = self.labels.firstIndex(of: labels) { return index }
        guard self.labels.count < Self.maximumLabels else { return 0 }
        self.labels.append(labels)
        return self.labels.count - 1
    }

    /// The labels of a node's stalls.
    func labels(of index: Int) -> RecordLabels {
        var place = index
        while place >= 0 { place = nodes[place].parent }
        return labels[-1 - place]
    }

    /// The frames of a node's way, root first.
    func path(of index: Int) -> [Int] {
        var path: [Int] = []
        var place = index
        while place >= 0 {
            path.append(nodes[place].frame)
            place = nodes[place].parent
        }
        return path.reversed()
    }

    private mutating func child(of parent: Int, _ frame: ExportFrame) -> Int? {
        let identity = frame.identity
        let known = frameIndices[identity]
        if let known, let index = children[Key(parent: parent, frame: known)] { return index }
        guard nodes.count < Self.maximumNodes else { return nil }
        let frameIndex = known ?? frames.count
        if known == nil {
            frames.append(frame)
            frameIndices[identity] = frameIndex
        }
        nodes.append(Node(parent: parent, frame: frameIndex))
        children[Key(parent: parent, frame: frameIndex)] = nodes.count - 1
        return nodes.count - 1
    }
}
