/// What a limit held back since the last time that was told: the content of an `event` `suppressed` line.
package struct Suppression: Sendable, Equatable {
    /// Longest text kept of a record, in bytes; no line carries more of a message.
    static let maximumTextBytes = 512

    /// nil: of several, which had to make room for newer ones.
    package var fingerprint: String?
    /// How many fingerprints this is about; one that came back and had to go again counts again.
    package var fingerprints: UInt64 = 1
    /// Records held back.
    package var count: UInt64 = 0
    /// Wall clock at the start of the first stall and of the last, nanoseconds since 1970.
    package var firstRealtimeNanoseconds: Int64 = 0
    package var lastRealtimeNanoseconds: Int64 = 0
    package var longestNanoseconds: UInt64 = 0
    /// The stalls' durations added up. One whose `begin` line was held back counts as long as it was by then, until
    /// its `end` line is held back as well.
    package var totalNanoseconds: UInt64 = 0
    /// Of the last one.
    package var culprit: String?
    /// Of the last one.
    package var message = ""
    /// When the first and the last were held back, `CLOCK_MONOTONIC`.
    var firstSuppressedNanoseconds: UInt64 = 0
    var lastSuppressedNanoseconds: UInt64 = 0

    package init(fingerprint: String?) { self.fingerprint = fingerprint }

    /// One more.
    /// - Parameter known: how much of its duration is in the sum already, from its `begin` line.
    mutating func add(_ record: borrowing StallRecord, known: UInt64, at now: UInt64) {
        if count == 0 {
            firstRealtimeNanoseconds = record.startRealtimeNanoseconds
            firstSuppressedNanoseconds = now
        }
        count += 1
        lastRealtimeNanoseconds = record.startRealtimeNanoseconds
        lastSuppressedNanoseconds = now
        longestNanoseconds = max(longestNanoseconds, record.durationNanoseconds)
        add(nanoseconds: record.durationNanoseconds > known ? record.durationNanoseconds - known : 0)
        culprit = record.culprit.map { Self.cut($0) }
        message = Self.cut(record.message)
    }

    /// What is told of a fingerprint no more is told with others.
    mutating func add(_ other: Suppression, at now: UInt64) {
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
        add(nanoseconds: other.totalNanoseconds)
        guard other.lastRealtimeNanoseconds >= lastRealtimeNanoseconds else { return }
        lastRealtimeNanoseconds = other.lastRealtimeNanoseconds
        culprit = other.culprit
        message = other.message
    }

    private mutating func add(nanoseconds: UInt64) {
        let (sum, overflow) = totalNanoseconds.addingReportingOverflow(nanoseconds)
        totalNanoseconds = overflow ? .max : sum
    }

    /// The beginning of a text, at a scalar's boundary (to which the index of a slice is rounded down).
    static func cut(_ text: String) -> String {
        guard text.utf8.count > maximumTextBytes else { return text }
        let end = text.utf8.index(text.startIndex, offsetBy: maximumTextBytes)
        return String(text.unicodeScalars[..<end])
    }
}

/// A ``Suppression`` on its way out: in one line with `event` `suppressed`.
package struct SuppressionNotice: Sendable, Equatable {
    package var suppression: Suppression
    package var time: OutputTime
    /// `suppressed_total`: in all, in this process.
    package var total: UInt64

    package init(suppression: Suppression, time: OutputTime, total: UInt64) {
        self.suppression = suppression
        self.time = time
        self.total = total
    }
}
