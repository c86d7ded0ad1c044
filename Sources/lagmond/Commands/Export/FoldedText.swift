/// Folded stacks, for flame graphs: `root;…;leaf weight`, the weight in whole milliseconds.
enum FoldedText {
    static func text(_ tree: CallTree) -> [UInt8] {
        // Frames that differ only in data that this format omits are merged.
        var weights: [String: UInt64] = [:]
        for (index, node) in tree.nodes.enumerated() where node.nanoseconds > 0 {
            weights[tree.path(of: index).map { tree.frames[$0].name }.joined(separator: ";"), default: 0] &+= node.nanoseconds
        }
        var output: [UInt8] = []
        for (stack, nanoseconds) in weights.sorted(by: { $0.key < $1.key }) {
            let milliseconds = nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 >= 500_000 ? 1 : 0)
            if milliseconds > 0 { output += Array("\(stack) \(milliseconds)\n".utf8) }
        }
        return output
    }
}
