internal import LagMonitor
internal import Synchronization

/// A sink that remembers the result of its last call, for `/healthz`, and reports on stderr why lines are lost, because a record
/// could not if the sink accepts none. It does not change what the inner sink does.
final class HealthTrackingSink: RecordSink {
    struct Health: Equatable {
        /// The reason, if the sink did not accept the last line.
        var refusal: String?
        /// The reason why accepted lines were lost, until later ones arrive.
        var loss: String?
        /// When the call in progress began, `CLOCK_MONOTONIC`.
        var busySince: MonotonicTime?
        /// Accepted lines that may still be lost.
        var unsettled = 0

        var failure: String? { refusal ?? loss }
    }

    private let sink: any RecordSink
    private let state = Mutex(Health())
    /// When each reason was last reported, because reporting each line would be a flood.
    private let reported = Mutex<[String: MonotonicTime]>([:])
    private static let silence: Duration = .seconds(3600)
    private static let mostReasons = 16
    private let report: @Sendable (String) -> Void

    /// - Parameter report: reports to the user why lines are lost; once an hour for each reason.
    init(_ sink: any RecordSink, report: @escaping @Sendable (String) -> Void = { Diagnostics.report($0) }) {
        self.sink = sink
        self.report = report
    }

    private func reportLoss(_ reason: String) {
        let isNew = reported.withLock { reported in
            if let time = reported[reason], MonotonicTime.now - time < Self.silence { return false }
            guard reported[reason] != nil || reported.count < Self.mostReasons else { return false }
            reported[reason] = .now
            return true
        }
        if isNew { report("\(reason); lines are lost") }
    }

    /// Any thread; never waits for the sink.
    var health: Health { state.withLock { $0 } }

    var name: String { sink.name }
    var format: RecordFormat? { sink.format }

    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        try tracking { () throws(SinkError) in try sink.write(line) }
    }

    func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) throws(SinkError) {
        try tracking { () throws(SinkError) in try sink.write(line, about: facts) }
    }

    func reopen() throws(SinkError) { try sink.reopen() }
    func resume() throws(SinkError) { try sink.resume() }
    func close() { sink.close() }
    func limitWaiting(until deadline: MonotonicTime?) {
        sink.limitWaiting(until: deadline)
    }

    func takeAbandonedLines() -> UInt64 {
        let lines = sink.takeAbandonedLines()
        if lines > 0 {
            let reason = (sink as? any LossExplainingSink)?.lossReason.map { ": \($0)" } ?? ""
            state.withLock { $0.loss = "\(name): \(lines) lines that it had accepted were lost\(reason)" }
            reportLoss("\(name): lines that it had accepted were not delivered\(reason)")
        }
        return lines
    }

    func takeAbandonedNotices() -> [Notice] {
        let notices = sink.takeAbandonedNotices()
        // A total of 0 means lines of an earlier process. The losses of other notices were reported when they happened.
        let inherited = notices.reduce(0 as UInt64) { sum, notice in
            if case .dropped(let count, _, 0) = notice.content { sum + count } else { sum }
        }
        if inherited > 0 {
            state.withLock { $0.loss = "\(name): \(inherited) lines that an earlier process had left were lost" }
        }
        return notices
    }

    var keptLines: Int? { sink.keptLines }

    var unsettledLines: Int {
        let lines = sink.unsettledLines
        state.withLock { state in
            // The waiting lines are gone: they have arrived, or the next call reports that they have not.
            if state.unsettled > 0, lines == 0 { state.loss = nil }
            state.unsettled = lines
        }
        return lines
    }

    private func tracking(_ body: () throws(SinkError) -> Void) throws(SinkError) {
        state.withLock { $0.busySince = .now }
        do throws(SinkError) {
            try body()
            let isSettled = sink.unsettledLines == 0
            state.withLock { state in
                state.busySince = nil
                state.refusal = nil
                // A file never has waiting lines: a written line has arrived.
                if isSettled, state.unsettled == 0 { state.loss = nil }
            }
        } catch {
            state.withLock { state in
                state.busySince = nil
                state.refusal = "\(error)"
            }
            reportLoss("\(error)")
            throw error
        }
    }
}
