extension StallRecord {
    /// A node of the merged call tree of all samples of a stalled thread: a run of calls that every sample in it shares.
    ///
    /// A plain value; `sample_tree` in the line is an array of the roots.
    public struct SampleNode: Sendable, Equatable {
        /// `ms`: the time of the stall that the samples through here cover.
        package var weightNanoseconds: UInt64
        /// `samples`: how many samples went through here.
        public var samples: UInt64
        /// `frames`: the functions, root to leaf, each called by the one before it and by nothing else here.
        public var frames: [String]
        /// `children`: what the last of ``frames`` called, the heaviest first. Not in the line when empty. What the children and
        /// ``pruned`` lack of the node's own weight was spent in the last frame itself.
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
