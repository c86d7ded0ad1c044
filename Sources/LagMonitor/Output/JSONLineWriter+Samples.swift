extension JSONLineWriter {
    /// How deep nodes may be nested. Each is an object in an array, in the record's own object, and has an array of frames: 30
    /// brackets are open at once, of the 31 that libfastjson (rsyslog) and json-c read (`JSON_TOKENER_DEFAULT_DEPTH`, which
    /// counts the innermost value).
    package static var maximumSampleLevels: Int { 14 }

    /// Writes the field `sample_tree`, an array of root nodes
    /// (`{"ms":12.500,"samples":3,"frames":["main","App.f"],"children":[…]}`), in at most `maxBytes` bytes, its key and the comma
    /// before it included.
    ///
    /// If it would be longer, the lightest branches are left out until it fits, and each node that lost some has their weight in
    /// `pruned_ms`. If not even the heaviest node fits, names are cut shorter, and of each node's frames only the eight nearest
    /// to the leaf are kept; `frames_total` is the full number. If that does not fit either, nothing is written.
    ///
    /// - Returns: the number of nodes written. Cost: the tree is written about log2(nodes) times.
    @discardableResult
    package mutating func writeSampleTree(_ roots: [StallRecord.SampleNode], maxBytes: Int) -> Int {
        let order = SampleOrder(roots, maximumLevels: Self.maximumSampleLevels)
        guard order.count > 0 else { return 0 }
        let caps = [
            SampleCaps(symbolBytes: LineLimits.maximumSymbolBytes, frames: .max), SampleCaps(symbolBytes: 96, frames: 8),
        ]
        for caps in caps {
            let most = most(of: roots, order, caps, maxBytes: maxBytes)
            guard most > 0 else { continue }
            write(roots, heaviest: most, order, caps)
            return most
        }
        return 0
    }

    /// How many of the heaviest nodes fit. With one more node the text is practically always longer, so halving finds the number;
    /// the result has been tried.
    private mutating func most(
        of roots: [StallRecord.SampleNode],
        _ order: SampleOrder,
        _ caps: SampleCaps,
        maxBytes: Int
    ) -> Int {
        let place = mark
        func fits(_ nodes: Int, _ writer: inout JSONLineWriter) -> Bool {
            let before = writer.count
            writer.write(roots, heaviest: nodes, order, caps)
            defer { writer.rollBack(to: place) }
            return writer.count - before <= maxBytes
        }
        if fits(order.count, &self) { return order.count }
        var low = 0
        var high = order.count
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if fits(middle, &self) { low = middle } else { high = middle }
        }
        return low
    }

    private mutating func write(
        _ roots: [StallRecord.SampleNode],
        heaviest: Int,
        _ order: SampleOrder,
        _ caps: SampleCaps
    ) {
        key("sample_tree")
        beginArray()
        var index = 0
        for root in roots { write(root, index: &index, heaviest: heaviest, order, caps) }
        endArray()
    }

    /// - Parameter index: the node's index, in preorder; afterwards the index of the node after its branch.
    private mutating func write(
        _ node: StallRecord.SampleNode,
        index: inout Int,
        heaviest: Int,
        _ order: SampleOrder,
        _ caps: SampleCaps
    ) {
        let end = order.branchEnds[index]
        defer { index = end }
        guard order.ranks[index] < heaviest else { return }
        index += 1

        beginObject()
        field("ms", millisecondsOf: node.weightNanoseconds)
        key("samples")
        value(node.samples)
        if node.frames.count > caps.frames { field("frames_total", UInt64(node.frames.count)) }
        key("frames")
        beginArray()
        for frame in node.frames.suffix(caps.frames) { value(frame, maxBytes: caps.symbolBytes) }
        endArray()

        var pruned = node.prunedNanoseconds
        var hasChildren = false
        for child in node.children {
            // Nodes beyond the end of the order are too deep to be in it.
            guard index < end, order.ranks[index] < heaviest else {
                pruned = pruned.saturatingSum(child.weightNanoseconds)
                if index < end { index = order.branchEnds[index] }
                continue
            }
            if !hasChildren {
                key("children")
                beginArray()
                hasChildren = true
            }
            write(child, index: &index, heaviest: heaviest, order, caps)
        }
        if hasChildren { endArray() }
        if pruned > 0 { field("pruned_ms", millisecondsOf: pruned) }
        endObject()
    }
}

/// How much of a node is written.
private struct SampleCaps {
    let symbolBytes: Int
    let frames: Int
}

/// The nodes of a tree in preorder, with the order in which they are removed.
private struct SampleOrder {
    /// For each node, how many are heavier, or equally heavy and before it: so a node is never kept without its parent.
    private(set) var ranks: [Int] = []
    /// For each node, the index after the last node of its branch.
    private(set) var branchEnds: [Int] = []

    var count: Int { ranks.count }

    init(_ roots: [StallRecord.SampleNode], maximumLevels: Int) {
        var weights: [UInt64] = []
        for root in roots { add(root, levels: maximumLevels, atMost: .max, &weights) }
        ranks = Array(repeating: 0, count: weights.count)
        let heaviestFirst = weights.indices.sorted { (weights[$1], $0) < (weights[$0], $1) }
        for (rank, index) in heaviestFirst.enumerated() { ranks[index] = rank }
    }

    private mutating func add(_ node: StallRecord.SampleNode, levels: Int, atMost: UInt64, _ weights: inout [UInt64]) {
        guard levels > 0 else { return }
        let index = weights.count
        // Not heavier than its parent, whatever the caller passes.
        let weight = min(node.weightNanoseconds, atMost)
        weights.append(weight)
        branchEnds.append(index)
        for child in node.children { add(child, levels: levels - 1, atMost: weight, &weights) }
        branchEnds[index] = weights.count
    }
}
