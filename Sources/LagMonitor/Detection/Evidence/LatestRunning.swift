internal import CLagBeacon
internal import CLagLinux
internal import LagModel

/// What a loop's thread was last found working on, and since when: before a stall, and during it.
///
/// A stall's first sample is taken at its threshold and shows nothing about the time before: of many tasks' jobs it may have
/// found the last and the shortest. And a task's context was opened long before the task ran. So a finding counts from the first
/// reading that found it, if all readings since then have found the same; or for as long as it is known to have run from its own
/// data.
package struct LatestRunning: Sendable {
    /// Before a stall, readings further apart are not combined: readings at the watchdog's ticks are close enough.
    package static let longestGapNanoseconds: UInt64 = 60_000_000

    private var token: UInt64 = 0
    private var task: (address: UInt64, number: UInt32) = (0, 0)
    private var latestNanoseconds: UInt64 = 0
    /// Since when each of them is known to have run (`CLOCK_MONOTONIC`).
    package private(set) var contextNanoseconds: UInt64 = 0
    package private(set) var taskNanoseconds: UInt64 = 0

    package init() {}

    /// - Parameter isStalled: during a stall, readings may be far apart.
    package mutating func record(_ reading: RunningReading, isStalled: Bool, at now: UInt64) {
        let isNext = isStalled || now.saturatingDifference(latestNanoseconds) <= Self.longestGapNanoseconds
        var (token, task): (UInt64, (address: UInt64, number: UInt32)) = (0, (0, 0))
        if let found = reading.context { token = found.pointee.token }
        if let found = reading.task { task = (found.pointee.address, found.pointee.number) }
        if !isNext || token != self.token { contextNanoseconds = now }
        if !isNext || task.address != self.task.address || task.number != self.task.number { taskNanoseconds = now }
        if let since = reading.since {
            contextNanoseconds = min(contextNanoseconds, since)
            taskNanoseconds = min(taskNanoseconds, since)
        }
        (self.token, self.task, latestNanoseconds) = (token, task, now)
    }

    /// A stall that began at `begin` is recorded from `now` on: readings before its beginning do not apply to it.
    package mutating func begin(at begin: UInt64, now: UInt64) {
        let isNext = now.saturatingDifference(latestNanoseconds) <= Self.longestGapNanoseconds
        guard isNext, latestNanoseconds >= begin else {
            self = LatestRunning()
            return
        }
        // The first reading of the stall is no further from its beginning than readings are from each other.
        let first = min(begin.saturatingSum(Self.longestGapNanoseconds), latestNanoseconds)
        if contextNanoseconds < begin { contextNanoseconds = first }
        if taskNanoseconds < begin { taskNanoseconds = first }
    }
}
