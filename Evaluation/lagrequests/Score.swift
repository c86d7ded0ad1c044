internal import LagModel
internal import LagMonitor

/// What the records of a run said of the requests that are known to have blocked.
struct Score {
    var stalls = 0
    var right = 0
    var wrong = 0
    var absent = 0
    var openListed = 0
    /// Blocks that made no record, and records of nothing that the service did: a busy machine's.
    var missed = 0
    var others = 0

    private static let targetShare = 0.98

    /// Of records and truth, each block by the record of its thread that covers most of it.
    init(_ records: [StallRecord], _ blocks: [Truth.Block]) {
        var isMatched = Set<Int>()
        for record in records {
            let begun = record.startMonotonicNanoseconds
            let ended = begun + record.durationNanoseconds
            let block = blocks.filter { $0.thread == record.threadID }
                .map { (block: $0, shared: min(ended, $0.ended).saturatingDifference(max(begun, $0.begun))) }
                .max { $0.shared < $1.shared }
            guard let (block, shared) = block, shared * 2 > record.durationNanoseconds, !isMatched.contains(block.request) else {
                others += 1
                // What no request did has none to blame; it may have been at any.
                continue
            }
            isMatched.insert(block.request)
            stalls += 1
            if !record.requestsOpen.isEmpty { openListed += 1 }
            switch record.request?.attributes.first(where: { $0.name == "id" })?.value {
            case "\(block.request)": right += 1
            case nil: absent += 1
            default: wrong += 1
            }
        }
        missed = blocks.count - isMatched.count
    }

    var isGood: Bool { stalls > 0 && wrong == 0 && Double(right) >= Double(stalls) * Self.targetShare }

    func line(_ mode: String) -> String {
        "requests \(mode) stalls=\(stalls) running_right=\(right) running_wrong=\(wrong) absent=\(absent) open_listed=\(openListed) "
            + "missed=\(missed) others=\(others) target=right>=98%,wrong=0 met=\(isGood ? "yes" : "no")"
    }
}
