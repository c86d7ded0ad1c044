internal import LagModel
internal import LagReader

/// The data that a page needs in addition to the table of groups. It does not depend on the order of reading, unless a limit is
/// reached.
struct ReportParts: Sendable {
    /// The number of stalls that the timeline shows individually.
    static let marks = 2000
    /// The number of stalls in the table of the longest.
    static let worst = 50
    private static let maximumNotices = 10_000

    private(set) var heat = TimeCells()
    private(set) var lanes = LaneTable()
    /// Half is enough: few lanes are shown, and there are fewer causes than durations.
    private(set) var laneCells = TimeCells(limit: TimeCells.maximumCells / 2)
    private(set) var tree = StackTree()
    private(set) var marked = LongestStalls(limit: marks)
    private(set) var worst = LongestStalls(limit: worst)
    private(set) var lineStore = LineStore()
    private(set) var incidents = IncidentTable()
    private(set) var hosts = DistinctCount()
    /// When the last stall ended, if known.
    private(set) var lastEnd = Int64.min
    private(set) var abandonedCount: UInt64 = 0
    /// Lines that the monitors reported as lost, by notice: a notice may be duplicated, and one announcement has a
    /// notice for each reason, all with the same total.
    private var lost: [UInt64: UInt64] = [:]

    var lostLines: UInt64 { lost.values.reduce(0) { $0 &+ $1 } }

    mutating func add(_ line: borrowing LineScanner, _ what: StallGrouping.Observation) {
        switch what {
        case .notice: addNotice(line)
        case .stall(let group, let time, let nanoseconds, let isOpen):
            add(line, group: group, time: time, nanoseconds: nanoseconds, isOpen: isOpen)
        }
    }

    /// - Parameter groups: for each group of the other, its index here.
    mutating func add(_ other: ReportParts, groups: [Int]) {
        let group = { (index: Int) in index < 0 ? -1 : groups[index] }
        let indices = lanes.add(other.lanes)
        let lane = { (index: Int) in index < 0 ? -1 : indices[index] }
        heat.add(other.heat, series: group)
        laneCells.add(other.laneCells, series: lane)
        tree.add(other.tree, groups: group)
        marked.add(other.marked, groups: group, lanes: lane)
        worst.add(other.worst, groups: group, lanes: lane)
        lineStore.add(other.lineStore, groups: group, lanes: lane)
        incidents.add(other.incidents, groups: group, lanes: lane)
        hosts.add(other.hosts)
        lastEnd = max(lastEnd, other.lastEnd)
        abandonedCount += other.abandonedCount
        lost.merge(other.lost) { one, _ in one }
    }

    private mutating func add(_ line: borrowing LineScanner, group: Int, time: Int64, nanoseconds: UInt64, isOpen: Bool) {
        let phase: StallRecord.Phase = isOpen ? .begin : line.has(.phase, "abandoned") ? .abandoned : .end
        let cause = StallGroup.causeIndex(line)
        let lane = lanes.add(line, nanoseconds: nanoseconds)
        if phase == .abandoned { abandonedCount += 1 }
        heat.add(series: group, row: DurationRow.row(nanoseconds: nanoseconds), time: time, nanoseconds: nanoseconds)
        laneCells.add(series: lane, row: cause, time: time, nanoseconds: nanoseconds)
        tree.add(line, group: group, nanoseconds: nanoseconds)
        hosts.add(line.withText(.hostName) { ByteHash.fixed($0) } ?? 0)
        lastEnd = max(lastEnd, time.addingReportingOverflow(Int64(clamping: nanoseconds)).partialValue)

        func stall(withLine: Bool) -> RetainedStall {
            let isShort = line.bytes.count <= LineStore.maximumLineBytes
            return RetainedStall(
                id: line.text(.id) ?? "",
                time: time,
                nanoseconds: nanoseconds,
                group: group,
                lane: lane,
                cause: cause,
                phase: phase,
                line: withLine && isShort ? Array(line.bytes) : nil
            )
        }
        if marked.admits(nanoseconds) { marked.add(stall(withLine: false)) }
        if worst.admits(nanoseconds) { worst.add(stall(withLine: true)) }
        lineStore.add(group: group, nanoseconds: nanoseconds) { stall(withLine: true) }
        incidents.add(line, time: time, nanoseconds: nanoseconds) { stall(withLine: false) }
    }

    private mutating func addNotice(_ line: borrowing LineScanner) {
        guard line.has(.event, "dropped"), let count = line.count(.dropped), lost.count < Self.maximumNotices else { return }
        let fields: [StallField] = [.hostName, .bootID, .pid, .droppedTotal, .reason, .mono]
        let hash = fields.reduce(UInt64(1)) { hash, field in
            guard let span = line.span(field) else { return hash &* 31 }
            return ByteHash.hash(line.bytes(of: span), seed: hash)
        }
        lost[hash] = count
    }
}
