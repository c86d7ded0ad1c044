internal import Synchronization

/// A point of `CLOCK_MONOTONIC` until which a thread may wait, and which any thread may move: the wait that is in progress sees it
/// at its next check.
package final class SharedDeadline: Sendable {
    // It orders nothing else.
    private let value = Atomic<UInt64>(.max)

    package init() {}

    /// `.max` is none.
    package var nanoseconds: UInt64 {
        get { value.load(ordering: .relaxed) }
        set { value.store(newValue, ordering: .relaxed) }
    }
}
