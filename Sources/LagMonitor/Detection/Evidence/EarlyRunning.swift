/// What a loop's thread was found at before its stall was one, one reading after the other: since when it was the same.
///
/// A stall's first sample comes at its threshold, and says nothing of the time before: of many tasks' jobs it may have found the last and the shortest.
package struct EarlyRunning: Sendable {
    /// Readings further apart are none of the same time.
    private static let longestGapNanoseconds: UInt64 = 60_000_000

    /// The context's token; 0: none.
    private var token: UInt64 = 0
    /// The task's address and number; 0: none.
    private var task: (address: UInt64, number: UInt32) = (0, 0)
    private var since = RunningSince()
    private var latestNanoseconds: UInt64 = 0

    package init() {}

    /// A reading.
    package mutating func record(token: UInt64, task address: UInt64, number: UInt32, at now: UInt64) {
        let isNext = now.saturatingDifference(latestNanoseconds) <= Self.longestGapNanoseconds
        if token != self.token || !isNext { since.context = now }
        if address != task.address || number != task.number || !isNext { since.task = now }
        (self.token, task, latestNanoseconds) = (token, (address, number), now)
    }

    /// Since when a sample's has run, for certain, of a stall that began at `begin`: what was read before that says nothing of it.
    package func since(token: UInt64, task address: UInt64, number: UInt32, begin: UInt64, at now: UInt64) -> RunningSince {
        var found = RunningSince()
        guard now.saturatingDifference(latestNanoseconds) <= Self.longestGapNanoseconds else { return found }
        if token != 0, token == self.token, since.context >= begin { found.context = since.context }
        if address != 0, address == task.address, number == task.number, since.task >= begin { found.task = since.task }
        return found
    }
}
