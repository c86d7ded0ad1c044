internal import Synchronization

/// A time of `CLOCK_MONOTONIC` until which a thread may wait. Any thread may move it: a wait in progress sees the change at its
/// next check.
package final class SharedDeadline: Sendable {
    // It orders nothing else.
    private let value = Atomic<UInt64>(.max)

    package init() {}

    /// `.max`: no deadline.
    package var nanoseconds: UInt64 {
        get { value.load(ordering: .relaxed) }
        set { value.store(newValue, ordering: .relaxed) }
    }
}
