internal import LagOutput

/// What a monitor has in progress, and what earlier processes left: the file of both.
///
/// Reporter thread only. While something stalls the file is written anew four times a second, so that what is reported of a killed process
/// says how long the stall had lasted then, to a quarter of a second.
struct UnfinishedStalls: ~Copyable {
    /// A stall that was reported to be in progress.
    private struct Stall {
        var record: StallRecord
        /// When its duration was last right.
        var seenNanoseconds: UInt64
    }

    private let place: UnfinishedPath
    private let bootID: String
    private var file: UnfinishedFile
    private var stalls: [Stall] = []
    private var nextNanoseconds = UInt64.max
    private var hasCheckedForRecovered: Bool

    /// Whether other monitors of this process keep stalls under this path, too, each of a process that it watches.
    private let isShared: Bool

    static let refreshNanoseconds: UInt64 = 250_000_000

    /// - Parameter isShared: other monitors of this process use the path, too. Then what earlier processes left is reported by who starts
    ///   these monitors (``RecoveredStalls/report(to:now:)``), and the name in the folder is free again when nothing stalls: there are
    ///   more processes than names.
    init(path: String, bootID: String, maxLineBytes: Int, isShared: Bool = false) {
        self.isShared = isShared
        hasCheckedForRecovered = isShared
        place = UnfinishedPath(path)
        self.bootID = bootID
        file = UnfinishedFile(place, bootID: bootID, maxLineBytes: maxLineBytes)
    }

    /// A stall began, or is reported while it lasts.
    mutating func keep(_ record: StallRecord, _ outputs: inout [RecordOutput], at now: UInt64) {
        var record = record
        record.phase = .abandoned
        record.severity = .critical
        // They are those of the moment at which it was reported; when a process that is gone went, nothing says.
        record.durationBounds = nil
        stalls.removeAll { $0.record.id == record.id }
        stalls.append(Stall(record: record, seenNanoseconds: now))
        write(&outputs, at: now)
    }

    /// A stall is over, and reported.
    mutating func settle(_ id: StallID, _ outputs: inout [RecordOutput], at now: UInt64) {
        let count = stalls.count
        stalls.removeAll { $0.record.id == id }
        guard stalls.count < count else { return }
        if isShared, stalls.isEmpty {
            nextNanoseconds = .max
            file.close()
        } else {
            write(&outputs, at: now)
        }
    }

    /// Brings the durations up to date, where it is time.
    /// - Returns: when to call again (`CLOCK_MONOTONIC`); `.max` while nothing stalls.
    mutating func refresh(_ outputs: inout [RecordOutput], at now: UInt64) -> UInt64 {
        guard nextNanoseconds <= now else { return nextNanoseconds }
        write(&outputs, at: now)
        return nextNanoseconds
    }

    /// Reports what earlier processes left; once.
    /// - Returns: how many stalls.
    mutating func emitRecovered(_ outputs: inout [RecordOutput], _ now: OutputTime) -> UInt64 {
        guard !hasCheckedForRecovered else { return 0 }
        hasCheckedForRecovered = true
        return RecoveredStalls(at: place, bootID: bootID).report(to: &outputs, now: now)
    }

    /// Nothing is in progress any more.
    mutating func close() {
        stalls = []
        nextNanoseconds = .max
        file.close()
        hasCheckedForRecovered = isShared
    }

    private mutating func write(_ outputs: inout [RecordOutput], at now: UInt64) {
        for index in stalls.indices {
            let passed = now.saturatingDifference(stalls[index].seenNanoseconds)
            // More has passed only if this thread could not run, and then perhaps no thread could.
            stalls[index].record.durationNanoseconds &+= min(passed, Self.refreshNanoseconds * 2)
            // They are shares of what it had lasted when it was reported.
            if passed > 0 { stalls[index].record.evidence.forgetUsage() }
            stalls[index].seenNanoseconds = now
            stalls[index].record.message = StallMessage(stalls[index].record, isCutOff: true).text
        }
        file.keep(
            stalls.map { stall in
                var lines: [RecordFormat: [UInt8]] = [:]
                for index in outputs.indices where lines[outputs[index].format] == nil {
                    lines[outputs[index].format] = outputs[index].line(of: stall.record)
                }
                return UnfinishedStall(facts: LineFacts(stall.record), lines: lines)
            }
        )
        nextNanoseconds = stalls.isEmpty ? .max : now &+ Self.refreshNanoseconds
    }
}
