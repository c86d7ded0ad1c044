package import CLagLinux
package import LagCapture

/// One of the different stacks that were seen in a stall, and how much of the stall it stands for.
package struct TalliedStack {
    /// Equal for stacks of the same functions.
    package let key: UInt64
    package var weightNanoseconds: UInt64 = 0
    package var count: UInt64 = 0
    package let outcome: CaptureOutcome
    /// What the thread slept in; of interest where ``CaptureOutcome/state`` says that it did.
    package var wait = cll_wait()
    package var lock = cll_lock()
    /// How much longer the lock's owner was found to hold it than others, one after the other, were; and up to which weight that is known.
    var ownerVotes: (nanoseconds: UInt64, weight: UInt64) = (0, 0)
    /// How often a stack was asked for of the owner that is kept now.
    var ownerTries: UInt8 = 0
    /// Instructions of its innermost function that are kept.
    var leaves = 0
    /// Threads of the chain of owners, of which the stacks are kept.
    package var owners = 0
    /// Which thread of the chain the last one's lock leads back to, from 0, the stalled one; negative: none.
    package var cycle = -1
}

/// A thread that holds a lock, as it was found.
package struct TalliedOwner {
    package let tid: Int32
    /// What it waits for itself.
    package let lock: cll_lock
    package let outcome: CaptureOutcome
    /// Its name at that time.
    package let name: cll_name
}
