internal import LagActivity
internal import LagCapture

/// What a watch keeps of the stall in progress, besides what its detector knows.
struct StallRecording {
    /// When the stall began, as the rule said that found it.
    let sinceNanoseconds: UInt64
    /// What the loop was doing when the stall was found.
    let activity: LoopActivity
    /// Where the stall is recorded; nil when no episode was free: then only its times are reported.
    let episode: Int?
    /// What the thread did at the first sign, or when its stack was last sampled; nil when that says nothing of this stall.
    var earlier: ThreadState?
    /// What the scheduler had counted when the stack was last sampled.
    var timesAtLastSample: ThreadTimes?
    var backoff = StackSamplingBackoff()
    /// When the stack is sampled next; `.max`: not again.
    var nextSampleNanoseconds: UInt64 = .max
}
