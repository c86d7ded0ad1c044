extension StallRecord {
    /// A node of the merged call tree of all samples of a stalled thread: a sequence of calls that all its samples share.
    ///
    /// A plain value; `sample_tree` in the line is an array of the roots.
    public struct SampleNode: Sendable, Equatable {
        /// `ms`: the stall's time that the samples through this node cover.
        package var weightNanoseconds: UInt64
        /// `samples`: how many samples went through this node.
        public var samples: UInt64
        /// `frames`: the functions, root to leaf, each called by the one before it and by nothing else in this node.
        public var frames: [String]
        /// `children`: what the last of ``frames`` called, the heaviest first. Not in the line if empty. If the children and
        /// ``pruned`` weigh less than the node, the rest was spent in the last frame itself.
        public var children: [SampleNode]
        /// `pruned_ms`: the weight of children that were left out. Not in the line when 0.
        package var prunedNanoseconds: UInt64

        package init(
            weightNanoseconds: UInt64,
            samples: UInt64,
            frames: [String],
            children: [SampleNode] = [],
            prunedNanoseconds: UInt64 = 0
        ) {
            self.weightNanoseconds = weightNanoseconds
            self.samples = samples
            self.frames = frames
            self.children = children
            self.prunedNanoseconds = prunedNanoseconds
        }
    }
}
