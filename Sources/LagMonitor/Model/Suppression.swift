/// What a limit held back since the last report: the content of an `event` `suppressed` line.
package struct Suppression: Sendable, Equatable {
    /// The longest text kept of a record, in bytes; no line contains more of a message.
    package static let maximumTextBytes = 512

    /// nil: several fingerprints, which were evicted for newer ones.
    package var fingerprint: String?
    /// How many fingerprints this is about; one that came back and was evicted again counts again.
    package var fingerprints: UInt64 = 1
    /// Stalls held back.
    package var count: UInt64 = 0
    /// Wall clock at the start of the first stall and of the last, nanoseconds since 1970.
    package var firstRealtimeNanoseconds: Int64 = 0
    package var lastRealtimeNanoseconds: Int64 = 0
    package var longestNanoseconds: UInt64 = 0
    /// The stalls' durations added up.
    package var totalNanoseconds: UInt64 = 0
    /// The last one's culprit.
    package var culprit: String?
    /// The last one's message.
    package var message = ""
    /// When the first and the last were held back, `CLOCK_MONOTONIC`.
    package var firstSuppressedNanoseconds: UInt64 = 0
    package var lastSuppressedNanoseconds: UInt64 = 0

    package init(fingerprint: String?) { self.fingerprint = fingerprint }

    /// Adds a stall that is over.
    package mutating func add(_ record: borrowing StallRecord, at now: UInt64) {
        if count == 0 {
            firstRealtimeNanoseconds = record.startRealtimeNanoseconds
            firstSuppressedNanoseconds = now
        }
        count += 1
        lastRealtimeNanoseconds = record.startRealtimeNanoseconds
        lastSuppressedNanoseconds = now
        longestNanoseconds = max(longestNanoseconds, record.durationNanoseconds)
        totalNanoseconds = totalNanoseconds.saturatingSum(record.durationNanoseconds)
        culprit = record.culprit.map { Self.cut($0) }
        message = Self.cut(record.message)
    }

    /// Merges a fingerprint that no longer gets a line of its own.
    package mutating func add(_ other: Suppression, at now: UInt64) {
        if count == 0 {
            firstRealtimeNanoseconds = other.firstRealtimeNanoseconds
            firstSuppressedNanoseconds = now
            fingerprints = 0
        }
        fingerprints += other.fingerprints
        count += other.count
        firstRealtimeNanoseconds = min(firstRealtimeNanoseconds, other.firstRealtimeNanoseconds)
        lastSuppressedNanoseconds = now
        longestNanoseconds = max(longestNanoseconds, other.longestNanoseconds)
        totalNanoseconds = totalNanoseconds.saturatingSum(other.totalNanoseconds)
        guard other.lastRealtimeNanoseconds >= lastRealtimeNanoseconds else { return }
        lastRealtimeNanoseconds = other.lastRealtimeNanoseconds
        culprit = other.culprit
        message = other.message
    }

    /// The beginning of a text, cut at a scalar's boundary (to which the index of a slice is rounded down).
    package static func cut(_ text: String) -> String {
        guard text.utf8.count > maximumTextBytes else { return text }
        let end = text.utf8.index(text.startIndex, offsetBy: maximumTextBytes)
        return String(text.unicodeScalars[..<end])
    }

    /// The text before ``message`` in the line's `message`; it is derived from the other properties.
    package var introduction: String {
        let stalls = count == 1 ? "1 stall" : "\(count) stalls"
        let whose = fingerprint == nil && fingerprints > 1 ? "of \(fingerprints) fingerprints" : "of one fingerprint"
        return "\(stalls) \(whose) held back, the last one: "
    }
}
