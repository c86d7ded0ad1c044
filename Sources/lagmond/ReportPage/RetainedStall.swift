internal import LagModel
internal import LagReader

/// A stall that the page shows as itself.
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
    /// Nil: it was too long, or is not needed.
    var line: [UInt8]?

    /// The longest first; the same for the same stalls in any order.
    static func isBefore(_ one: RetainedStall, _ other: RetainedStall) -> Bool {
        if one.nanoseconds != other.nanoseconds { return one.nanoseconds > other.nanoseconds }
        return one.time != other.time ? one.time < other.time : one.id < other.id
    }
}

/// The longest of all stalls.
struct LongestStalls: Sendable {
    private let limit: Int
    /// So many more before they are sorted again.
    private let slack: Int
    private var kept: [RetainedStall] = []
    /// What is shorter has no chance.
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

    /// What comes next is kept again, though it may be shorter than what was there.
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
