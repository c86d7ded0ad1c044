internal import LagMonitor

/// Compares the records of a run with the requests that are known to have blocked.
///
/// A block belongs to the record of its thread that covers most of it. Two blocks that a loop ran in succession, without a
/// response in between, are one stall, which must name both.
struct Score {
    /// The number of blocks with a record.
    var stalls = 0
    var right = 0
    var wrong = 0
    var absent = 0
    /// The number of records that list other open requests.
    var openListed = 0
    /// The number of records of more than one block.
    var shared = 0
    /// The number of blocks without a record, and of records that no block caused, which occur on a busy machine.
    var missed = 0
    var others = 0

    private static let targetShare = 0.98

    /// - Parameter span: the span that records must name, in addition to the request's trace; nil: requests have none.
    init(_ records: [StallRecord], _ blocks: [Truth.Block], span: String?) {
        var owners: [Int: [Truth.Block]] = [:]
        for block in blocks {
            let covering = records.indices.filter { records[$0].threadID == block.thread }
                .map { (record: $0, nanoseconds: block.shared(with: records[$0])) }
                .max { $0.nanoseconds < $1.nanoseconds }
            guard let covering, covering.nanoseconds * 2 > block.ended - block.begun else {
                missed += 1
                continue
            }
            owners[covering.record, default: []].append(block)
        }
        for (index, record) in records.enumerated() {
            guard let owned = owners[index] else {
                others += 1
                // If no request caused a stall, its record may name any request.
                continue
            }
            let truth = Set(owned.map { "\($0.request)" })
            // A request that was active for part of the stall may have a separate record for the rest, but did not cause this
            // stall. (A record lists requests that were active for half of the threshold; its samples are about 10 ms apart.)
            let partly = Set(
                blocks.filter {
                    $0.thread == record.threadID && $0.shared(with: record) > record.threshold.nanoseconds / 4
                }
                .map { "\($0.request)" }
            )
            let named = ([record.request].compactMap { $0 } + record.requestsOpen.filter(\.running)).map(\.number)
            stalls += owned.count
            if owned.count > 1 { shared += 1 }
            if record.requestsOpen.contains(where: { !$0.running }) { openListed += 1 }
            let isWrong =
                named.contains { !truth.contains($0) && !partly.contains($0) }
                || record.request.map {
                    !truth.contains($0.number) || span != nil && (record.traceID != $0.traceID || record.spanID != span)
                } ?? false
            if isWrong { wrong += owned.count }
            for number in truth where !isWrong {
                if named.contains(number) { right += 1 } else { absent += 1 }
            }
        }
    }

    /// A block without a record also counts as wrong.
    var isGood: Bool { stalls > 0 && wrong == 0 && Double(right) >= Double(stalls + missed) * Self.targetShare }

    func line(_ mode: String) -> String {
        "requests \(mode) stalls=\(stalls) running_right=\(right) running_wrong=\(wrong) absent=\(absent) open_listed=\(openListed) "
            + "shared=\(shared) missed=\(missed) others=\(others) target=right>=98%,wrong=0 met=\(isGood ? "yes" : "no")"
    }
}

extension StallRecord.Request {
    /// Its number in the service.
    fileprivate var number: String { attributes.first { $0.name == "id" }?.value ?? "" }

    /// The headers with which it was sent.
    fileprivate var traceID: String { TraceParent.traceID(Int(number) ?? 0) }
}

extension Truth.Block {
    /// How much of the block a record covers.
    fileprivate func shared(with record: StallRecord) -> UInt64 {
        let since = record.startMonotonicNanoseconds
        let (first, last) = (max(since, begun), min(since + record.duration.nanoseconds, ended))
        return last > first ? last - first : 0
    }
}

extension Duration {
    fileprivate var nanoseconds: UInt64 { UInt64(self / .nanoseconds(1)) }
}
