internal import LagModel
internal import LagReader

/// The groups in descending order of total stalled time.
struct TopRanking {
    let shown: [StallGroup]
    let groupCount: Int
    let count: UInt64
    /// Including stalls that a limit suppressed.
    let totalNanoseconds: UInt64
    let heldBackCount: UInt64

    /// - Parameter limit: how many are shown; 0: all.
    init(_ table: GroupTable, limit: Int) {
        let hasRest = table.rest.count + table.rest.heldBackCount > 0
        let groups = Array(table.groups) + (hasRest ? [table.rest] : [])
        groupCount = groups.count
        let order = groups.indices.sorted { Self.isBefore(groups[$0], groups[$1]) }
        shown = order.prefix(limit == 0 ? .max : limit).map { groups[$0] }
        count = groups.reduce(0) { $0.saturatingSum($1.count) }
        totalNanoseconds = groups.reduce(0) { $0.saturatingSum($1.weight) }
        heldBackCount = groups.reduce(0) { $0.saturatingSum($1.heldBackCount) }
    }

    static func isBefore(_ one: StallGroup, _ other: StallGroup) -> Bool {
        if one.weight != other.weight { return one.weight > other.weight }
        return one.count != other.count ? one.count > other.count : one.key.lexicographicallyPrecedes(other.key)
    }
}
