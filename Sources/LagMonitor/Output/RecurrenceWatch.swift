/// Notices a fingerprint that comes so many times within a window; says so once a window.
///
/// A stall counts once, with its last line (`end` or `abandoned`), whether that is told or held back by a limit. What a
/// restore interval keeps back has no record and does not count.
///
/// A pure value: time is `CLOCK_MONOTONIC` in nanoseconds, given with every call. Memory: ``capacity`` fingerprints, of which
/// the least recently seen makes room, with 24 bytes for each stall that the rule counts: some 250 KiB at the very most.
package struct RecurrenceWatch: Sendable {
    /// Fingerprints remembered.
    package static let capacity = 256

    private struct Sighting: Sendable {
        let nanoseconds: UInt64
        let startRealtimeNanoseconds: Int64
        let durationNanoseconds: UInt64
    }

    private struct Known: Sendable {
        /// The last ones, oldest first.
        var sightings: [Sighting] = []
        var toldNanoseconds: UInt64?
        var seenTotal: UInt64 = 0
    }

    private let count: Int
    private let windowNanoseconds: UInt64
    private var known: RecentTable<Known>

    /// - Parameters:
    ///   - count: so many stalls; at least 1.
    ///   - windowNanoseconds: within this time, from the first one's record to the last one's.
    package init(count: Int, windowNanoseconds: UInt64, capacity: Int = RecurrenceWatch.capacity) {
        self.count = max(1, count)
        self.windowNanoseconds = windowNanoseconds
        known = RecentTable(capacity: capacity)
    }

    /// Counts a record; every record is to be given once, in the order of their coming.
    /// - Returns: what is to be told, if this one makes it so.
    package mutating func note(_ record: borrowing StallRecord, at now: UInt64) -> Recurrence? {
        guard record.phase != .begin else { return nil }
        let fingerprint = record.fingerprint
        _ = known.use(fingerprint, orInsert: Known())
        var entry = known[fingerprint] ?? Known()
        defer { known[fingerprint] = entry }
        entry.seenTotal += 1
        if entry.sightings.count == count { entry.sightings.removeFirst() }
        entry.sightings.append(
            Sighting(
                nanoseconds: now,
                startRealtimeNanoseconds: record.startRealtimeNanoseconds,
                durationNanoseconds: record.durationNanoseconds
            )
        )
        let isRecurring = entry.sightings.count == count && now &- entry.sightings[0].nanoseconds <= windowNanoseconds
        let isTold = entry.toldNanoseconds.map { now &- $0 < windowNanoseconds } ?? false
        guard isRecurring, !isTold else { return nil }
        entry.toldNanoseconds = now
        return Recurrence(
            fingerprint: fingerprint,
            count: UInt64(count),
            windowNanoseconds: windowNanoseconds,
            firstRealtimeNanoseconds: entry.sightings[0].startRealtimeNanoseconds,
            lastRealtimeNanoseconds: record.startRealtimeNanoseconds,
            totalNanoseconds: entry.sightings.reduce(0) { sum, sighting in
                let (total, overflow) = sum.addingReportingOverflow(sighting.durationNanoseconds)
                return overflow ? .max : total
            },
            seenTotal: entry.seenTotal,
            culprit: record.culprit,
            message: record.message
        )
    }
}
