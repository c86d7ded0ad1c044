internal import Synchronization

/// Until when a symbolizer's answers may be waited for.
///
/// **Any thread**: whoever stops the reporter shortens the wait that the reporter is in. One atomic number; nothing is woken,
/// a wait looks here every ``pollIntervalNanoseconds``.
package final class SymbolizerWaitLimit: Sendable {
    /// How long a wait that was cut short may go on.
    package static let pollIntervalNanoseconds: UInt64 = 10_000_000

    // It orders nothing else: a wait that sees it late ends at its next look.
    private let deadline = Atomic<UInt64>(.max)

    package init() {}

    /// From now on nobody waits beyond this time (`CLOCK_MONOTONIC`), also who waits already; nil: as long as it was
    /// set up with.
    package func limit(untilMonotonicNanoseconds deadline: UInt64?) { self.deadline.store(deadline ?? .max, ordering: .relaxed) }

    package var monotonicNanoseconds: UInt64 { deadline.load(ordering: .relaxed) }
}
