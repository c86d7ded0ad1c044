internal import LagModel

/// Which stalls are one incident: those that one thread or one lock holds up at the same time. Reporter thread only; bounded.
///
/// A stall that waits for a lock belongs to the thread at the end of the chain of owners, of a deadlock to its whole cycle, and where the
/// lock's memory names no owner to the lock itself. Any other stall belongs to its own thread: so the loop that sleeps with a lock
/// is in one incident with those that wait for it. The incident's id is that of its first stall.
struct IncidentTracker {
    private enum Holder: Hashable {
        case thread(Int32)
        case lock(UInt64)
        /// The same stall, reported before.
        case stall(StallID)
    }

    private struct Incident {
        let id: StallID
        var start: UInt64
        var end: UInt64
    }

    /// More at a time are hardly one machine's; then the one that ended first goes.
    static let limit = 256

    private var incidents: [Holder: Incident] = [:]

    var count: Int { incidents.count }

    /// The incident of a record; nil where it holds up nobody else so far, and waits for no lock.
    mutating func incident(of record: StallRecord) -> StallID? {
        let start = record.startMonotonicNanoseconds
        let end = start &+ record.durationNanoseconds &+ (record.excludedNanoseconds ?? 0)
        let holders = Self.holders(of: record) + [.stall(record.id)]
        let known = holders.compactMap { incidents[$0] }.first { $0.start < end && start < $0.end }
        var incident = known ?? Incident(id: record.id, start: start, end: end)
        incident.start = min(incident.start, start)
        incident.end = max(incident.end, end)
        for holder in holders { incidents[holder] = incident }
        while incidents.count > Self.limit, let oldest = incidents.min(by: { $0.value.end < $1.value.end }) {
            incidents[oldest.key] = nil
        }
        let isWaiting = record.evidence.lockAddress != nil
        return isWaiting || incident.id != record.id ? incident.id : nil
    }

    private static func holders(of record: StallRecord) -> [Holder] {
        let evidence = record.evidence
        guard let address = evidence.lockAddress else { return [.thread(record.threadID)] }
        if let first = evidence.lockCycle.map(\.threadID).min() { return [.thread(first), .lock(address)] }
        return ((evidence.lockChain.last ?? evidence.lockOwner).map { [.thread($0.threadID)] } ?? []) + [.lock(address)]
    }
}
