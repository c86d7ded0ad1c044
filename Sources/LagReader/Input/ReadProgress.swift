internal import Synchronization

/// The progress of reading, updated by the readers. Any thread.
package final class ReadProgress: Sendable {
    /// The total number of bytes, as far as known.
    package let total: UInt64
    private let done = Atomic<UInt64>(0)

    package init(total: UInt64) { self.total = total }

    package var bytes: UInt64 { done.load(ordering: .relaxed) }

    func add(_ count: Int) { done.add(UInt64(count), ordering: .relaxed) }
}
