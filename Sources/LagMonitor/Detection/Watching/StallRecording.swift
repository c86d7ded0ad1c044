internal import LagActivity
internal import LagCapture

/// What a watch keeps of the stall in progress, in addition to its detector's state.
struct StallRecording {
    /// When the stall began, according to the rule that found it.
    let sinceNanoseconds: UInt64
    /// What the loop was doing when the stall was found.
    let activity: LoopActivity
    /// Where the stall is recorded; nil if no episode was free: then only its times are reported.
    let episode: Int?
    /// The thread's state at the first sign, or when its stack was last sampled; nil if that does not apply to this stall.
    var earlier: ThreadState?
    /// The scheduler's figures when the stack was last sampled.
    var timesAtLastSample: ThreadTimes?
    var backoff = StackSamplingBackoff()
    /// When the stack is sampled next; `.max`: not again.
    var nextSampleNanoseconds: UInt64 = .max
}
