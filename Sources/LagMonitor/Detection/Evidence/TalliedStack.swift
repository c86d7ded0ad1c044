package import CLagLinux
package import LagCapture

/// One of the different stacks that were sampled in a stall, and how much of the stall it represents.
package struct TalliedStack {
    /// Equal for stacks of the same functions.
    package let key: UInt64
    package var weightNanoseconds: UInt64 = 0
    package var count: UInt64 = 0
    package let outcome: CaptureOutcome
    /// What the thread slept in; only valid if ``CaptureOutcome/state`` shows that it slept.
    package var wait = cll_wait()
    package var lock = cll_lock()
    /// How much longer the lock's kept owner was found to hold it than other owners, one after the other; and up to which weight
    /// this is known.
    var ownerVotes: (nanoseconds: UInt64, weight: UInt64) = (0, 0)
    /// How often a stack of the kept owner was requested.
    var ownerTries: UInt8 = 0
    /// Instructions of its innermost function that are kept.
    var leaves = 0
    /// Threads of the chain of owners whose stacks are kept.
    package var owners = 0
    /// The thread of the chain to which the last one's lock leads back, from 0, the stalled one; negative: none.
    package var cycle = -1
}

/// A thread that holds a lock, as it was found.
package struct TalliedOwner {
    package let tid: Int32
    /// The lock for which it waits itself.
    package let lock: cll_lock
    package let outcome: CaptureOutcome
    /// Its name at that time.
    package let name: cll_name
}
