internal import LagModel

/// How long ``StallMonitor/stop()`` waits for pending lines. Times are nanoseconds of `CLOCK_MONOTONIC`.
///
/// A sink, which may never accept a line, gets a second. The monitor's own threads always finish, but on a machine without free
/// processors they need longer: a record without its line would be lost at the moment when it is needed most.
struct StopWait {
    private static let sinkNanoseconds: UInt64 = 1_000_000_000
    /// How much of this time records may wait for files and lines; the rest is for writing them.
    private static let lineNanoseconds: UInt64 = 250_000_000
    /// How much longer it waits until the lines that sinks abandon at the deadline (a wait notices within 50 ms) are counted.
    private static let countingNanoseconds: UInt64 = 250_000_000
    private static let threadNanoseconds: UInt64 = 4_000_000_000

    /// From then on, no record waits for lines.
    let lineDeadline: UInt64
    /// From then on, no sink waits.
    let sinkDeadline: UInt64
    private let threadDeadline: UInt64

    init(begun: UInt64) {
        lineDeadline = begun.saturatingSum(Self.lineNanoseconds)
        sinkDeadline = begun.saturatingSum(Self.sinkNanoseconds)
        threadDeadline = begun.saturatingSum(Self.threadNanoseconds)
    }

    /// - Parameter writingSince: since when the reporter has waited for a sink or a disk; nil: it does not wait for one.
    func isOver(at now: UInt64, writingSince: UInt64?) -> Bool {
        guard now < threadDeadline else { return true }
        // A write that began just now is one of a thread that got a processor at last.
        guard let writingSince else { return false }
        return now >= max(sinkDeadline, writingSince).saturatingSum(Self.countingNanoseconds)
    }
}
