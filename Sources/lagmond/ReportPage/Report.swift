internal import LagReader

/// The contents of a page: selected from everything that was read, ranked, and the same for the same lines.
struct Report {
    /// A group, or all groups that are not shown individually.
    struct Group {
        let stalls: StallGroup
        /// The index in the table of groups; nil: the other groups.
        let index: Int?
        let tree: PrunedTree
        /// Its longest stalls that have details: indices into ``Report/details``.
        let details: [Int]
    }

    /// Stalls that one thread or one lock caused at the same time.
    struct Incident {
        struct Victim {
            let stall: RetainedStall
            let culprit: String
            let lane: LaneTable.Lane?
        }

        let stalls: IncidentTable.Incident
        /// The longest stalls, the earliest first.
        let victims: [Victim]
    }

    /// The limit for all groups that are shown; the others share one tree, which is wide.
    private static let treeNodes = 14_000
    private static let leastTreeNodes = 120
    private static let otherTreeNodes = 5_000
    /// The maximum size of all details together, as written in the page.
    private static let maximumDetailBytes = 2_000_000

    let title: String
    let inputs: [String]
    let inputErrors: [String]
    let tally: LineTally
    let groups: [Group]
    /// The number of groups that the last of ``groups`` summarizes.
    let otherGroupCount: Int
    /// All stalls in one.
    let all: StallGroup
    let lanes: [LaneTable.Lane]
    let heat: TimeCells
    let laneCells: TimeCells
    let marks: [RetainedStall]
    let worst: [RetainedStall]
    /// The incidents of several stalls, the most stalled time first.
    let incidents: [Incident]
    /// The number of incidents of several stalls that are not shown.
    let otherIncidentCount: Int
    /// Stalls whose incident did not fit.
    let withoutIncident: UInt64
    /// Stalls with all details in the page.
    let details: [RetainedStall]
    let hostCount: Int
    let abandonedCount: UInt64
    let lostLines: UInt64
    let lastEnd: Int64
    let laneCount: Int
    let shortenedStacks: UInt64
    let withoutDetails: Int

    static let maximumLanes = 24
    static let maximumIncidents = 25
    static let heatColumns: Int64 = 160
    private static let laneColumns: Int64 = 400
    private static let maximumCells = 20_000

    init(_ aggregate: ReportAggregate, title: String, inputs: [String], inputErrors: [String], top: Int) {
        let table = aggregate.grouping.table
        let parts = aggregate.parts
        self.title = title
        self.inputs = inputs
        self.inputErrors = inputErrors
        tally = aggregate.grouping.tally
        let ranked = table.groups.indices.sorted { TopRanking.isBefore(table.groups[$0], table.groups[$1]) }
        let shown = Array(ranked.prefix(top))
        var others = StallGroup(key: [])
        for index in ranked.dropFirst(top) { others.add(table.groups[index]) }
        others.add(table.rest)
        let hasOthers = others.count + others.heldBackCount > 0
        otherGroupCount = ranked.count - shown.count + (table.rest.count + table.rest.heldBackCount > 0 ? 1 : 0)
        var all = others
        for index in shown { all.add(table.groups[index]) }
        self.all = all

        let places = Dictionary(uniqueKeysWithValues: zip(shown, shown.indices))
        let place = { (index: Int) in places[index] ?? shown.count }
        let chosen = Self.details(parts, shown: shown)
        let details = chosen.details.map { Self.placed($0, group: place) }
        var tree = StackTree()
        tree.add(parts.tree, groups: place)
        var members: [[Int]] = Array(repeating: [], count: shown.count + 1)
        for (index, node) in tree.nodes.enumerated() { members[Int(node.group)].append(index) }
        let limit = max(Self.leastTreeNodes, Self.treeNodes / (shown.count + 1))
        groups = (shown.map(Optional.some) + (hasOthers ? [nil] : [])).enumerated().map { number, index in
            Group(
                stalls: index.map { table.groups[$0] } ?? others,
                index: index,
                tree: PrunedTree(tree, members: members[number], limit: index == nil ? Self.otherTreeNodes : limit),
                details: details.indices.filter { details[$0].group == number }
            )
        }

        let order = parts.lanes.lanes.indices.sorted { LaneTable.Lane.isBefore(parts.lanes.lanes[$0], parts.lanes.lanes[$1]) }
        let shownLanes = order.prefix(Self.maximumLanes)
        let lanePlaces = Dictionary(uniqueKeysWithValues: zip(shownLanes, shownLanes.indices))
        let lane = { (index: Int) in lanePlaces[index] ?? shownLanes.count }
        lanes = shownLanes.map { parts.lanes.lanes[$0] }
        laneCount = order.count
        heat = parts.heat.fitted(columns: Self.heatColumns, cells: Self.maximumCells, series: place)
        laneCells = parts.laneCells.fitted(columns: Self.laneColumns, cells: Self.maximumCells, series: lane)
        let settled = { (stall: RetainedStall) in Self.placed(stall, group: place, lane: lane) }
        marks = parts.marked.sorted.map(settled)
        worst = parts.worst.sorted.map(settled)
        let several = parts.incidents.incidents.filter { $0.count > 1 }.sorted(by: IncidentTable.Incident.isBefore)
        incidents = several.prefix(Self.maximumIncidents).map { incident in
            let victims = incident.victims.sorted { ($0.stall.time, $0.stall.id) < ($1.stall.time, $1.stall.id) }
            return Incident(
                stalls: incident,
                victims: victims.map { victim in
                    let lanes = parts.lanes.lanes
                    return Incident.Victim(
                        stall: settled(victim.stall),
                        culprit: victim.culprit,
                        lane: lanes.indices.contains(victim.stall.lane) ? lanes[victim.stall.lane] : nil
                    )
                }
            )
        }
        otherIncidentCount = several.count - incidents.count
        withoutIncident = parts.incidents.restCount
        self.details = details.map { Self.placed($0, group: { $0 }, lane: lane) }
        withoutDetails = chosen.without
        hostCount = parts.hosts.count
        abandonedCount = parts.abandonedCount
        lostLines = parts.lostLines
        lastEnd = parts.lastEnd
        shortenedStacks = tree.shortened
    }

    /// The stalls whose lines are in the page: the worst of all and of each group, the longest first, as far as they fit; and how
    /// many did not fit.
    private static func details(_ parts: ReportParts, shown: [Int]) -> (details: [RetainedStall], without: Int) {
        // The worst of each group first, so that each group has one.
        let first = shown.compactMap { parts.lineStore.stalls(of: $0).first }
        let second = shown.flatMap { parts.lineStore.stalls(of: $0).dropFirst() }
        var ids: Set<String> = []
        var bytes = 0
        var kept: [RetainedStall] = []
        var without = 0
        for stall in first + parts.worst.sorted + second where ids.insert(stall.id).inserted {
            let size = stall.line.map(ReportData.size) ?? .max
            guard size <= maximumDetailBytes - bytes else {
                without += 1
                continue
            }
            bytes += size
            kept.append(stall)
        }
        return (kept.sorted(by: RetainedStall.isBefore), without)
    }

    private static func placed(
        _ stall: RetainedStall,
        group: (Int) -> Int,
        lane: (Int) -> Int = { $0 }
    ) -> RetainedStall {
        var stall = stall
        stall.group = group(stall.group)
        stall.lane = lane(stall.lane)
        return stall
    }
}
