package import LagActivity
internal import LagModel

/// How long work was pending at a loop during one stretch of its work, at least, according to occasional examinations.
///
/// If several examinations in a row found work, the time from the first to the last of them counts. Events that another thread
/// fetched and that arrived again in between are not distinguished, and what happened before the first and after the last is not
/// known. So the time is a lower bound. Pure: times are passed in.
package struct PendingMeter: Sendable, Equatable {
    /// The beacon's word of the stretch of work.
    private var word: UInt64 = .max
    /// The first of the examinations in a row that found work.
    private var since: UInt64?
    private var last: UInt64 = 0
    /// Whether any examination has found work; nil: not known since one last found none. (If the last one finds none, there was
    /// none before: the thread fetches nothing meanwhile.)
    package private(set) var isPending: Bool?
    /// The longest such series.
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
        case .unknown:
            since = nil
            if isPending == false { isPending = nil }
        }
    }

    /// Whether the findings belong to a stall that began then.
    package func covers(since: UInt64) -> Bool { last >= since && word != .max }
}
