internal import LagReader

/// A stall that the page shows as itself.
struct KeptStall: Sendable {
    let id: String
    let time: Int64
    let nanoseconds: UInt64
    /// Index in the table of groups; -1: the rest.
    var group: Int
    /// Index in the table of lanes; -1: none.
    var lane: Int
    /// Index in ``StallGroup/causes``.
    let cause: Int
    let phase: ReadStall.Phase
    /// Nil: it was too long, or is not needed.
    var line: [UInt8]?

    /// The longest first; the same for the same stalls in any order.
    static func isBefore(_ one: KeptStall, _ other: KeptStall) -> Bool {
        if one.nanoseconds != other.nanoseconds { return one.nanoseconds > other.nanoseconds }
        return one.time != other.time ? one.time < other.time : one.id < other.id
    }
}

/// The longest of all stalls.
struct LongestStalls: Sendable {
    private let limit: Int
    /// So many more before they are sorted again.
    private let slack: Int
    private var kept: [KeptStall] = []
    /// What is shorter has no chance.
    private var floor: UInt64 = 0

    init(limit: Int) {
        self.limit = limit
        slack = limit < 100 ? 0 : limit
    }

    func admits(_ nanoseconds: UInt64) -> Bool { limit > 0 && nanoseconds >= floor }

    mutating func add(_ stall: KeptStall) {
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
        floor = 0
    }

    var sorted: [KeptStall] { Array(kept.sorted(by: KeptStall.isBefore).prefix(limit)) }

    var lineBytes: Int { kept.reduce(0) { $0 + ($1.line?.count ?? 0) } }

    private mutating func trim() {
        kept = sorted
        floor = kept.last?.nanoseconds ?? 0
    }
}
