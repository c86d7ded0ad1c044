internal import LagModel
internal import LagReader

/// The loops that stalled, each identified by host, process and loop; a bounded number of them.
struct LaneTable: Sendable {
    struct Lane: Sendable {
        let host: String
        let process: String
        let pid: UInt64
        let loop: String
        var count: UInt64 = 0
        var nanoseconds: UInt64 = 0

        /// The order in the page: the most stalled time first.
        static func isBefore(_ one: Lane, _ other: Lane) -> Bool {
            if one.nanoseconds != other.nanoseconds { return one.nanoseconds > other.nanoseconds }
            return (one.host, one.process, one.pid, one.loop) < (other.host, other.process, other.pid, other.loop)
        }
    }

    /// About 200 bytes each.
    static let maximumLanes = 20_000
    private static let maximumNameBytes = 255

    private(set) var lanes: [Lane] = []
    /// Stalls whose loop did not fit.
    private(set) var restCount: UInt64 = 0
    private(set) var restNanoseconds: UInt64 = 0
    private var indices: [UInt64: Int] = [:]
    private var hashes: [UInt64] = []

    /// - Returns: the lane's index; -1 if it does not fit.
    mutating func add(_ line: borrowing LineScanner, nanoseconds: UInt64) -> Int {
        let pid = line.count(.pid) ?? 0
        let fields: [StallField] = [.hostName, .processName, .loop]
        let hash = fields.reduce(pid) { hash, field in line.withText(field) { ByteHash.hash($0, seed: hash) } ?? hash &* 31 }
        let lane = Lane(host: "", process: "", pid: pid, loop: "", count: 1, nanoseconds: nanoseconds)
        return add(hash, lane) {
            Lane(host: Self.name(.hostName, line), process: Self.name(.processName, line), pid: pid, loop: Self.name(.loop, line))
        }
    }

    /// - Returns: for each lane of the other table, its index here.
    mutating func add(_ other: LaneTable) -> [Int] {
        restCount += other.restCount
        restNanoseconds.addSaturated(other.restNanoseconds)
        return other.lanes.indices.map { index in
            let lane = other.lanes[index]
            return add(other.hashes[index], lane) { Lane(host: lane.host, process: lane.process, pid: lane.pid, loop: lane.loop) }
        }
    }

    private mutating func add(_ hash: UInt64, _ more: Lane, _ make: () -> Lane) -> Int {
        var index = indices[hash]
        if index == nil, lanes.count < Self.maximumLanes {
            index = lanes.count
            indices[hash] = lanes.count
            hashes.append(hash)
            lanes.append(make())
        }
        guard let index else {
            restCount += more.count
            restNanoseconds.addSaturated(more.nanoseconds)
            return -1
        }
        lanes[index].count += more.count
        lanes[index].nanoseconds.addSaturated(more.nanoseconds)
        return index
    }

    private static func name(_ field: StallField, _ line: borrowing LineScanner) -> String {
        line.withText(field) { PlainText.sanitized($0.prefix(maximumNameBytes)) } ?? ""
    }
}
