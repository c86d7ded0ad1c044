internal import LagOutput
internal import Synchronization

/// A time that the caller sets, on both clocks.
final class ManualClock: Sendable {
    /// Where the monotonic clock begins: not at zero, which means "never" in a beacon.
    private static let begin: UInt64 = 1_000_000_000_000
    /// The wall clock at that time: 2026-01-01T00:00:00Z.
    private static let beginRealtime: Int64 = 1_767_225_600_000_000_000

    private let time = Atomic<UInt64>(ManualClock.begin)

    /// `CLOCK_MONOTONIC`, nanoseconds.
    var now: UInt64 { time.load(ordering: .relaxed) }

    /// Never goes back.
    func set(_ now: UInt64) { time.store(max(now, self.now), ordering: .relaxed) }

    /// The wall clock at a monotonic time.
    func realtime(of monotonic: UInt64) -> Int64 {
        Self.beginRealtime &+ Int64(bitPattern: monotonic &- Self.begin)
    }

    var output: OutputTime {
        let now = now
        return OutputTime(realtimeNanoseconds: realtime(of: now), monotonicNanoseconds: now)
    }
}
