/// Notices a fingerprint that comes so many times within a window; says so once a window.
///
/// A stall counts once, with its last line (`end` or `abandoned`), whether that is written or held back by a limit. What a
/// restore interval keeps back has no record and does not count.
///
/// A pure value: time is `CLOCK_MONOTONIC` in nanoseconds, given with every call. Memory: ``capacity`` fingerprints, of which
/// the least recently seen makes room, with 24 bytes for each stall that the rule counts: some 250 KiB at the very most.
package struct RecurrenceDetector: Sendable {
    package static let capacity = 256

    private struct Occurrence: Sendable {
        let nanoseconds: UInt64
        let startRealtimeNanoseconds: Int64
        let durationNanoseconds: UInt64
    }

    private struct FingerprintState: Sendable {
        /// The last ones, oldest first.
        var occurrences: [Occurrence] = []
        var emittedNanoseconds: UInt64?
        var seenTotal: UInt64 = 0
    }

    private let count: Int
    private let windowNanoseconds: UInt64
    private var known: LRUTable<FingerprintState>

    /// - Parameters:
    ///   - count: so many stalls; at least 1.
    ///   - windowNanoseconds: within this time, from the first one's record to the last one's.
    package init(count: Int, windowNanoseconds: UInt64, capacity: Int = RecurrenceDetector.capacity) {
        self.count = max(1, count)
        self.windowNanoseconds = windowNanoseconds
        known = LRUTable(capacity: capacity)
    }

    /// Counts a record; every record is to be given once, in the order of their coming.
    /// - Returns: what is to be reported, if this one makes it so.
    package mutating func observe(_ record: borrowing StallRecord, at now: UInt64) -> Recurrence? {
        guard record.phase != .begin else { return nil }
        let fingerprint = record.fingerprint
        _ = known.use(fingerprint, orInsert: FingerprintState())
        var entry = known[fingerprint] ?? FingerprintState()
        defer { known[fingerprint] = entry }
        entry.seenTotal += 1
        if entry.occurrences.count == count { entry.occurrences.removeFirst() }
        entry.occurrences.append(
            Occurrence(
                nanoseconds: now,
                startRealtimeNanoseconds: record.startRealtimeNanoseconds,
                durationNanoseconds: record.durationNanoseconds
            )
        )
        let isRecurring = entry.occurrences.count == count && now &- entry.occurrences[0].nanoseconds <= windowNanoseconds
        let isEmitted = entry.emittedNanoseconds.map { now &- $0 < windowNanoseconds } ?? false
        guard isRecurring, !isEmitted else { return nil }
        entry.emittedNanoseconds = now
        return Recurrence(
            fingerprint: fingerprint,
            count: UInt64(count),
            windowNanoseconds: windowNanoseconds,
            firstRealtimeNanoseconds: entry.occurrences[0].startRealtimeNanoseconds,
            lastRealtimeNanoseconds: record.startRealtimeNanoseconds,
            totalNanoseconds: entry.occurrences.reduce(0) { $0.saturatingSum($1.durationNanoseconds) },
            seenTotal: entry.seenTotal,
            culprit: record.culprit,
            message: record.message
        )
    }
}
