internal import Synchronization

/// How far reading has come; written by the readers, read by whoever shows it. Any thread.
package final class ReadProgress: Sendable {
    /// Bytes there are, as far as known.
    package let total: UInt64
    private let done = Atomic<UInt64>(0)

    package init(total: UInt64) { self.total = total }

    package var bytes: UInt64 { done.load(ordering: .relaxed) }

    func add(_ count: Int) { done.add(UInt64(count), ordering: .relaxed) }
}
