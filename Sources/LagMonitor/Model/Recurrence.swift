/// A stall that recurs: the content of an `event` `recurring` line.
package struct Recurrence: Sendable, Equatable {
    package var fingerprint: String
    /// The number of these stalls within the window.
    package var count: UInt64
    package var windowNanoseconds: UInt64
    /// Wall clock at the start of the first and of the last of them, nanoseconds since 1970.
    package var firstRealtimeNanoseconds: Int64
    package var lastRealtimeNanoseconds: Int64
    /// Their durations added up.
    package var totalNanoseconds: UInt64
    /// Stalls of this fingerprint since it was first seen (or seen again after it had been forgotten).
    package var seenTotal: UInt64
    /// The last one's culprit.
    package var culprit: String?
    /// The last one's message.
    package var message: String

    package init(
        fingerprint: String,
        count: UInt64,
        windowNanoseconds: UInt64,
        firstRealtimeNanoseconds: Int64,
        lastRealtimeNanoseconds: Int64,
        totalNanoseconds: UInt64,
        seenTotal: UInt64,
        culprit: String? = nil,
        message: String
    ) {
        self.fingerprint = fingerprint
        self.count = count
        self.windowNanoseconds = windowNanoseconds
        self.firstRealtimeNanoseconds = firstRealtimeNanoseconds
        self.lastRealtimeNanoseconds = lastRealtimeNanoseconds
        self.totalNanoseconds = totalNanoseconds
        self.seenTotal = seenTotal
        self.culprit = culprit
        self.message = message
    }

    /// The text before ``message`` in the line's `message`; it is derived from the other properties.
    package var introduction: String {
        // As exact as in the line, so that a reader of the line produces the same text.
        let window = DurationText.text(nanoseconds: windowNanoseconds / 1_000_000 * 1_000_000)
        return "the same stall \(count == 1 ? "once" : "\(count) times") within \(window), most recently: "
    }
}
