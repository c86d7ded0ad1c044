internal import LagActivity

/// Stalls of a ``CandidateLoop`` that is not confirmed yet, neither as a loop nor as the owner of the stalls. They are reported
/// when it is confirmed, and dropped when its watch ends first.
///
/// Reporter thread only.
struct WithheldRecords {
    private struct Entry {
        let record: StallRecord
        let loop: any CandidateLoop
        let core: MonitorCore
        /// ``Episode/Facts/lastWork``
        let lastWork: UInt64
        /// The watch's index in the registry.
        let watch: Int
    }

    private var entries: [Entry] = []
    /// Per watch, the stall in progress whose beginning was reported.
    private var begun: [Int: StallID] = [:]

    /// Per watch. A loop is confirmed by its eighth wait. A candidate that is never confirmed and stalls repeatedly keeps its
    /// first stalls.
    static let capacity = 16

    /// A stall's end replaces its beginning.
    /// - Parameter lastWork: ``Episode/Facts/lastWork``.
    /// - Returns: whether there was space.
    @discardableResult
    mutating func add(
        _ record: StallRecord,
        of loop: any CandidateLoop,
        watch: Int,
        for core: MonitorCore,
        lastWork: UInt64
    ) -> Bool {
        forget(record.id)
        guard entries.count(where: { $0.watch == watch }) < Self.capacity else { return false }
        entries.append(Entry(record: record, loop: loop, core: core, lastWork: lastWork, watch: watch))
        return true
    }

    /// Those whose loop is confirmed by now, in the order in which they were added. They are withheld no longer.
    mutating func takeConfirmed() -> [(record: StallRecord, core: MonitorCore)] {
        guard !entries.isEmpty else { return [] }
        var confirmed: [Entry] = []
        entries.removeAll { entry in
            guard entry.loop.isConfirmed, !entry.loop.isDoubtful(at: entry.lastWork) else { return false }
            confirmed.append(entry)
            return true
        }
        for entry in confirmed {
            entry.loop.recordReport()
            recordReport(of: entry.record, watch: entry.watch)
        }
        return confirmed.map { (record: $0.record, core: $0.core) }
    }

    /// A record of a candidate is reported without being withheld.
    mutating func recordReport(of record: StallRecord, watch: Int) { begun[watch] = record.phase == .begin ? record.id : nil }

    /// Whether the beginning of this stall was reported, but not its end.
    func isBegun(_ id: StallID, watch: Int) -> Bool { begun[watch] == id }

    mutating func forget(_ id: StallID) { entries.removeAll { $0.record.id == id } }

    /// These watches are over.
    mutating func forget(_ watches: [Int]) {
        entries.removeAll { watches.contains($0.watch) }
        for watch in watches { begun[watch] = nil }
    }
}
