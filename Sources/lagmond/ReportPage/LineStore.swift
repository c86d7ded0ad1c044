internal import LagModel

/// The lines of each group's longest stalls, in a bounded number of bytes: if they are too many, the lightest groups lose theirs.
struct LineStore: Sendable {
    static let linesPerGroup = 2
    /// Longer lines are not kept.
    static let maximumLineBytes = 64 << 10
    /// The limit for all lines of one store.
    static let maximumBytes = 16 << 20

    private struct Place: Sendable {
        var nanoseconds: UInt64 = 0
        var longest = LongestStalls(limit: linesPerGroup)
    }

    private var places: [Int: Place] = [:]
    private var bytes = 0

    /// - Parameter stall: creates the stall; only called if it is kept.
    mutating func add(group: Int, nanoseconds: UInt64, _ stall: () -> RetainedStall) {
        places[group, default: Place()].nanoseconds.addSaturated(nanoseconds)
        guard places[group]?.longest.admits(nanoseconds) == true else { return }
        put(stall(), in: group)
    }

    mutating func add(_ other: LineStore, groups: (Int) -> Int, lanes: (Int) -> Int) {
        for (group, place) in other.places {
            let index = groups(group)
            places[index, default: Place()].nanoseconds.addSaturated(place.nanoseconds)
            for var stall in place.longest.sorted {
                stall.group = index
                stall.lane = lanes(stall.lane)
                put(stall, in: index)
            }
        }
    }

    func stalls(of group: Int) -> [RetainedStall] { places[group]?.longest.sorted ?? [] }

    private mutating func put(_ stall: RetainedStall, in group: Int) {
        bytes -= places[group]?.longest.lineBytes ?? 0
        places[group]?.longest.add(stall)
        bytes += places[group]?.longest.lineBytes ?? 0
        if bytes > Self.maximumBytes { evict() }
    }

    private mutating func evict() {
        for group in places.keys.sorted(by: { places[$0]!.nanoseconds < places[$1]!.nanoseconds }) {
            guard bytes > Self.maximumBytes / 2 else { return }
            bytes -= places[group]?.longest.lineBytes ?? 0
            places[group]?.longest.removeAll()
        }
    }
}
