internal import LagModel
internal import LagReader

/// The incidents: stalls that one thread or one lock caused at the same time. A bounded number of them, each with a bounded number of its stalls.
struct IncidentTable: Sendable {
    /// A stall that belongs to an incident.
    struct Victim: Sendable {
        var stall: RetainedStall
        let culprit: String
    }

    struct Incident: Sendable {
        let id: String
        /// When its first stall began and its last one ended: nanoseconds since 1970.
        var start = Int64.max
        var end = Int64.min
        var count: UInt64 = 0
        /// The sum over all its stalls.
        var nanoseconds: UInt64 = 0
        /// The longest ones.
        fileprivate(set) var victims: [Victim] = []

        /// The order in the page: the most stalled time first.
        static func isBefore(_ one: Incident, _ other: Incident) -> Bool {
            if one.nanoseconds != other.nanoseconds { return one.nanoseconds > other.nanoseconds }
            return one.start != other.start ? one.start < other.start : one.id < other.id
        }

        fileprivate mutating func add(_ victim: Victim) {
            victims.append(victim)
            guard victims.count > IncidentTable.maximumVictims else { return }
            victims.sort { RetainedStall.isBefore($0.stall, $1.stall) }
            victims.removeLast()
        }

        fileprivate mutating func add(start: Int64, end: Int64, count: UInt64, nanoseconds: UInt64) {
            self.start = min(self.start, start)
            self.end = max(self.end, end)
            self.count += count
            self.nanoseconds.addSaturated(nanoseconds)
        }
    }

    /// About 400 bytes each, and more with many stalls.
    static let maximumIncidents = 20_000
    /// The maximum number of stalls that are kept per incident.
    static let maximumVictims = 8
    private static let maximumIDBytes = 80
    private static let maximumCulpritBytes = 200

    private(set) var incidents: [Incident] = []
    /// Stalls whose incident did not fit.
    private(set) var restCount: UInt64 = 0
    private var indices: [String: Int] = [:]

    /// - Parameter stall: creates the stall; only called if it is kept.
    mutating func add(_ line: borrowing LineScanner, time: Int64, nanoseconds: UInt64, stall: () -> RetainedStall) {
        guard let id = Self.text(.incident, line, Self.maximumIDBytes), !id.isEmpty else { return }
        guard let index = index(of: id) else {
            restCount += 1
            return
        }
        let end = time.addingReportingOverflow(Int64(clamping: nanoseconds))
        incidents[index].add(start: time, end: end.overflow ? .max : end.partialValue, count: 1, nanoseconds: nanoseconds)
        let culprit = Self.text(.culprit, line, Self.maximumCulpritBytes) ?? ""
        incidents[index].add(Victim(stall: stall(), culprit: culprit))
    }

    /// - Parameters:
    ///   - groups: maps each group of the other table to its index here.
    ///   - lanes: the same for lanes.
    mutating func add(_ other: IncidentTable, groups: (Int) -> Int, lanes: (Int) -> Int) {
        restCount += other.restCount
        for incident in other.incidents {
            guard let index = index(of: incident.id) else {
                restCount += incident.count
                continue
            }
            incidents[index].add(
                start: incident.start,
                end: incident.end,
                count: incident.count,
                nanoseconds: incident.nanoseconds
            )
            for var victim in incident.victims {
                victim.stall.group = groups(victim.stall.group)
                victim.stall.lane = lanes(victim.stall.lane)
                incidents[index].add(victim)
            }
        }
    }

    private mutating func index(of id: String) -> Int? {
        if let index = indices[id] { return index }
        guard incidents.count < Self.maximumIncidents else { return nil }
        indices[id] = incidents.count
        incidents.append(Incident(id: id))
        return incidents.count - 1
    }

    private static func text(_ field: StallField, _ line: borrowing LineScanner, _ most: Int) -> String? {
        line.withText(field) { PlainText.sanitized($0.prefix(most)) }
    }
}
