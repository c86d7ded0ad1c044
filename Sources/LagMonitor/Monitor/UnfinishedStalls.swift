internal import LagOutput

/// The file that keeps a monitor's stalls in progress, and what earlier processes left there.
///
/// Reporter thread only. During a stall the file is rewritten four times a second, so the report of a killed process shows to a
/// quarter of a second how long the stall had lasted.
struct UnfinishedStalls: ~Copyable {
    /// A stall that was reported to be in progress.
    private struct Stall {
        var record: StallRecord
        /// When its duration was last updated.
        var seenNanoseconds: UInt64
    }

    private let place: UnfinishedPath
    private let bootID: String
    private var file: UnfinishedFile
    private var stalls: [Stall] = []
    private var nextNanoseconds = UInt64.max
    private var hasCheckedForRecovered: Bool

    /// Whether other monitors of this process also keep stalls under this path, each of a process that it watches.
    private let isShared: Bool

    static let refreshNanoseconds: UInt64 = 250_000_000

    /// - Parameter isShared: other monitors of this process use the path, too. Then the code that starts these monitors reports
    ///   what earlier processes left (``RecoveredStalls/report(to:now:)``), and the name in the folder is released when nothing
    ///   stalls, because there are more processes than names.
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
        // The bounds belong to the moment of that report; for a process that is gone, its time of death is unknown.
        record.durationBounds = nil
        stalls.removeAll { $0.record.id == record.id }
        stalls.append(Stall(record: record, seenNanoseconds: now))
        write(&outputs, at: now)
    }

    /// A stall is over and reported.
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

    /// Updates the durations, if it is time.
    /// - Returns: the time of the next call (`CLOCK_MONOTONIC`); `.max` while nothing stalls.
    mutating func refresh(_ outputs: inout [RecordOutput], at now: UInt64) -> UInt64 {
        guard nextNanoseconds <= now else { return nextNanoseconds }
        write(&outputs, at: now)
        return nextNanoseconds
    }

    /// Reports what earlier processes left; once.
    /// - Returns: the number of stalls.
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
            // More time has passed only if this thread could not run, and then perhaps no thread could.
            stalls[index].record.durationNanoseconds &+= min(passed, Self.refreshNanoseconds * 2)
            // They are shares of the duration at the time of the report.
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
