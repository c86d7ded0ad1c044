/// Detects a fingerprint that recurs a number of times within a window; reports it once per window.
///
/// A stall counts once, with its last line (`end` or `abandoned`), whether that line is written or held back by a limit. A stall
/// that a restore interval holds back has no record and does not count.
///
/// A pure value: time is `CLOCK_MONOTONIC` in nanoseconds, passed with every call. Memory: ``capacity`` fingerprints, of which
/// the least recently seen is evicted, with 24 bytes for each stall that the rule counts: some 250 KiB at most.
package struct RecurrenceDetector: Sendable {
    package static let capacity = 256

    private struct Occurrence: Sendable {
        let nanoseconds: UInt64
        let startRealtimeNanoseconds: Int64
        let durationNanoseconds: UInt64
    }

    private struct FingerprintState: Sendable {
        /// The latest ones, oldest first.
        var occurrences: [Occurrence] = []
        var emittedNanoseconds: UInt64?
        var seenTotal: UInt64 = 0
    }

    private let count: Int
    private let windowNanoseconds: UInt64
    private var known: LRUTable<FingerprintState>

    /// - Parameters:
    ///   - count: this many stalls; at least 1.
    ///   - windowNanoseconds: within this time, from the first one's record to the last one's.
    package init(count: Int, windowNanoseconds: UInt64, capacity: Int = RecurrenceDetector.capacity) {
        self.count = max(1, count)
        self.windowNanoseconds = windowNanoseconds
        known = LRUTable(capacity: capacity)
    }

    /// Counts a record; pass every record once, in the order of arrival.
    /// - Returns: what is to be reported, if this record completes the count.
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
