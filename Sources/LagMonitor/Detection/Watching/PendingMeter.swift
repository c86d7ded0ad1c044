package import LagActivity

/// For how long at least work was pending at a loop during one stretch of its work, by examinations of it now and then.
///
/// What several examinations in a row have found counts from the first to the last of them: events that were fetched by another thread and
/// came anew in between are not distinguished, and what lies before the first and after the last is not known. So the time is a lower bound.
/// Pure: times are passed in.
package struct PendingMeter: Sendable, Equatable {
    /// Of which stretch of work: the beacon's word.
    private var word: UInt64 = .max
    /// The first of the examinations in a row that found work.
    private var since: UInt64?
    private var last: UInt64 = 0
    /// Whether any examination has found work; nil: none got an answer.
    package private(set) var isPending: Bool?
    /// The longest such row.
    package private(set) var nanoseconds: UInt64 = 0

    package init() {}

    package mutating func record(_ work: PendingWork, word: UInt64, at now: UInt64) {
        if word != self.word {
            self = PendingMeter()
            self.word = word
        }
        last = max(last, now)
        switch work {
        case .pending:
            isPending = true
            let first = since ?? now
            since = first
            nanoseconds = max(nanoseconds, now.saturatingDifference(first))
        case .none:
            since = nil
            isPending = isPending ?? false
        case .unknown: since = nil
        }
    }

    /// Whether what was found is of a stall that began then.
    package func covers(since: UInt64) -> Bool { last >= since && word != .max }
}
