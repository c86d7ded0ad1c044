internal import LagModel

/// The stacks of many stalls, merged from the root; a bounded number of nodes.
struct CallTree {
    /// About 200 bytes each. When the tree is full, new stacks end at their last known frame.
    static let maximumNodes = 400_000
    /// Distinct label sets; about 500 bytes each, up to 3000 with the operator's labels.
    static let maximumLabels = 20_000

    struct Node {
        /// -1: a root.
        let parent: Int
        /// Index into ``CallTree/frames``.
        let frame: Int
        /// The time spent in this node itself, without its children.
        var nanoseconds: UInt64 = 0
    }

    /// The time spent in a node under one set of labels.
    struct Sample: Hashable {
        let node: Int
        /// Index into ``CallTree/labels``.
        let labels: Int
    }

    struct Weight {
        var nanoseconds: UInt64 = 0
        var count: UInt64 = 0
    }

    private(set) var frames: [ExportFrame] = []
    /// The first is for samples without labels, and for those whose set did not fit.
    private(set) var labels: [StackLabels] = [.none]
    /// The samples of paths that were added with labels.
    private(set) var samples: [Sample: Weight] = [:]
    private(set) var nodes: [Node] = []
    /// Paths that did not fit.
    private(set) var shortened = 0
    private var frameIndices: [String: Int] = [:]
    private var labelIndices: [StackLabels: Int] = [:]
    private var children: [Key: Int] = [:]

    private struct Key: Hashable {
        let parent: Int
        let frame: Int
    }

    /// - Parameters:
    ///   - count: the number of stalls to add to ``samples``.
    ///   - labels: nil: no samples are recorded.
    mutating func add(_ path: StackPath, count: UInt64, labels: StackLabels? = nil) {
        var place = -1
        for frame in path.frames {
            guard let next = child(of: place, frame) else {
                shortened += 1
                break
            }
            place = next
        }
        guard place >= 0 else { return }
        nodes[place].nanoseconds.addSaturated(path.nanoseconds)
        guard let labels else { return }
        var sample = Sample(node: place, labels: index(of: labels))
        // A node without labels always fits.
        if samples[sample] == nil, samples.count >= Self.maximumNodes { sample = Sample(node: place, labels: 0) }
        samples[sample, default: Weight()].nanoseconds.addSaturated(path.nanoseconds)
        samples[sample, default: Weight()].count += count
    }

    private mutating func index(of set: StackLabels) -> Int {
        if let index = labelIndices[set] { return index }
        guard labels.count <= Self.maximumLabels else { return 0 }
        labels.append(set)
        labelIndices[set] = labels.count - 1
        return labels.count - 1
    }

    /// The frames of a node's path, root first.
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
