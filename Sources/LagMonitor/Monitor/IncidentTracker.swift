internal import LagModel

/// Groups stalls into incidents: stalls that one thread or one lock delays at the same time. Reporter thread only; bounded.
///
/// A stall that waits for a lock belongs to the thread at the end of the chain of owners. A stall in a deadlock belongs to the
/// whole cycle. If the lock's memory names no owner, the stall belongs to the lock itself. Any other stall belongs to its own
/// thread, so a loop that sleeps while it holds a lock is in one incident with the threads that wait for the lock. The incident's
/// id is that of its first stall.
struct IncidentTracker {
    private enum Holder: Hashable {
        case thread(Int32)
        case lock(UInt64)
        /// The same stall, reported while it lasts.
        case stall(StallID)
    }

    private struct Incident {
        let id: StallID
        var start: UInt64
        var end: UInt64
        /// Its stalls that were reported while they last.
        var open: Set<StallID> = []

        var latest: UInt64 { open.isEmpty ? end : .max }
    }

    /// More incidents at a time are unlikely on one machine; the one that ended first is dropped.
    static let limit = 64

    private var incidents: [StallID: Incident] = [:]
    private var holders: [Holder: StallID] = [:]

    var count: Int { incidents.count }
    var holderCount: Int { holders.count }

    /// The incident of a record; nil if it delays no other thread so far and waits for no lock.
    mutating func incident(of record: StallRecord) -> StallID? {
        let start = record.startMonotonicNanoseconds
        let end = start.saturatingSum(record.durationNanoseconds).saturatingSum(record.excludedNanoseconds ?? 0)
        let isWaiting = record.cause == .lock || record.cause == .deadlock
        let own = [.stall(record.id)] + Self.holders(of: record, isWaiting: isWaiting)
        let known = own.compactMap { holders[$0].flatMap { incidents[$0] } }.first { $0.start < end && start < $0.latest }
        var incident = known ?? Incident(id: record.id, start: start, end: end)
        incident.start = min(incident.start, start)
        incident.end = max(incident.end, end)
        if record.phase == .begin {
            incident.open.insert(record.id)
        } else {
            incident.open.remove(record.id)
        }
        incidents[incident.id] = incident
        for holder in own { holders[holder] = incident.id }
        if record.phase != .begin { holders[.stall(record.id)] = nil }
        if incidents.count > Self.limit { forgetOldest() }
        return isWaiting || incident.id != record.id ? incident.id : nil
    }

    private mutating func forgetOldest() {
        guard let oldest = incidents.values.min(by: { $0.latest < $1.latest }) else { return }
        incidents[oldest.id] = nil
        holders = holders.filter { $0.value != oldest.id }
    }

    private static func holders(of record: StallRecord, isWaiting: Bool) -> [Holder] {
        let evidence = record.evidence
        guard isWaiting, let address = evidence.lockAddress else {
            // 0: the thread is not known.
            return record.threadID > 0 ? [.thread(record.threadID)] : []
        }
        if let first = evidence.lockCycle.map(\.threadID).min() { return [.thread(first), .lock(address)] }
        return ((evidence.lockChain.last ?? evidence.lockOwner).map { [.thread($0.threadID)] } ?? []) + [.lock(address)]
    }
}
