internal import LagActivity

/// Stalls of which it was not known yet whether their loop is one, or they are its (``CandidateLoop``): reported when it is, forgotten when its watch ends first.
///
/// Reporter thread only.
struct WithheldRecords {
    private struct Entry {
        let record: StallRecord
        let loop: any CandidateLoop
        let core: MonitorCore
        /// The watch's index in the registry.
        let watch: Int
    }

    private var entries: [Entry] = []

    /// Of a watch. A loop is known by its eighth wait. What never becomes one, and stalls again and again, keeps its first stalls.
    static let capacity = 16

    /// The end of a stall takes the place of its beginning.
    /// - Returns: whether there was room.
    @discardableResult
    mutating func add(_ record: StallRecord, of loop: any CandidateLoop, watch: Int, for core: MonitorCore) -> Bool {
        forget(record.id)
        guard entries.count(where: { $0.watch == watch }) < Self.capacity else { return false }
        entries.append(Entry(record: record, loop: loop, core: core, watch: watch))
        return true
    }

    /// Those whose loop is known by now, in the order in which they were added. They are withheld no more.
    mutating func takeConfirmed() -> [(record: StallRecord, core: MonitorCore)] {
        guard !entries.isEmpty else { return [] }
        var confirmed: [(record: StallRecord, core: MonitorCore)] = []
        entries.removeAll { entry in
            guard entry.loop.isConfirmed, !entry.loop.isDoubtful else { return false }
            confirmed.append((entry.record, entry.core))
            return true
        }
        return confirmed
    }

    mutating func forget(_ id: StallID) { entries.removeAll { $0.record.id == id } }

    /// These watches are over.
    mutating func forget(_ watches: [Int]) { entries.removeAll { watches.contains($0.watch) } }
}
