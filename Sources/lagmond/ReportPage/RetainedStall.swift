internal import LagModel
internal import LagReader

/// A stall that the page shows individually.
struct RetainedStall: Sendable {
    let id: String
    let time: Int64
    let nanoseconds: UInt64
    /// Index in the table of groups; -1: the rest.
    var group: Int
    /// Index in the table of lanes; -1: none.
    var lane: Int
    /// Index in ``StallGroup/causes``.
    let cause: Int
    let phase: StallRecord.Phase
    /// Nil: too long, or not needed.
    var line: [UInt8]?

    /// The longest first; the result does not depend on the order of the input.
    static func isBefore(_ one: RetainedStall, _ other: RetainedStall) -> Bool {
        if one.nanoseconds != other.nanoseconds { return one.nanoseconds > other.nanoseconds }
        return one.time != other.time ? one.time < other.time : one.id < other.id
    }
}

/// The longest of all stalls.
struct LongestStalls: Sendable {
    private let limit: Int
    /// How many more are collected before they are sorted again.
    private let slack: Int
    private var kept: [RetainedStall] = []
    /// Shorter stalls are ignored.
    private var minimumNanoseconds: UInt64 = 0

    init(limit: Int) {
        self.limit = limit
        slack = limit < 100 ? 0 : limit
    }

    func admits(_ nanoseconds: UInt64) -> Bool { limit > 0 && nanoseconds >= minimumNanoseconds }

    mutating func add(_ stall: RetainedStall) {
        guard admits(stall.nanoseconds) else { return }
        kept.append(stall)
        if kept.count > limit + slack { trim() }
    }

    mutating func add(_ other: LongestStalls, groups: (Int) -> Int, lanes: (Int) -> Int) {
        for var stall in other.kept {
            stall.group = groups(stall.group)
            stall.lane = lanes(stall.lane)
            add(stall)
        }
    }

    /// Resets the minimum too: the next stalls are kept, even if they are shorter than the removed ones.
    mutating func removeAll() {
        kept = []
        minimumNanoseconds = 0
    }

    var sorted: [RetainedStall] { Array(kept.sorted(by: RetainedStall.isBefore).prefix(limit)) }

    var lineBytes: Int { kept.reduce(0) { $0 + ($1.line?.count ?? 0) } }

    private mutating func trim() {
        kept = sorted
        minimumNanoseconds = kept.last?.nanoseconds ?? 0
    }
}
