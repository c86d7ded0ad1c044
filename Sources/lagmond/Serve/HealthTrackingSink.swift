internal import LagMonitor
internal import Synchronization

/// A sink that remembers how its last call went, for `/healthz`, and says on stderr why lines are lost: a line could not where none is taken. It
/// changes nothing of what the sink within does.
final class HealthTrackingSink: RecordSink {
    struct Health: Equatable {
        /// Of the last line, when the sink did not take it.
        var refusal: String?
        /// Of lines that it had taken, until later ones arrive.
        var loss: String?
        /// Since when a call has not returned, `CLOCK_MONOTONIC`.
        var busySince: MonotonicTime?
        /// Lines taken that may still be given up.
        var unsettled = 0

        var failure: String? { refusal ?? loss }
    }

    private let sink: any RecordSink
    private let state = Mutex(Health())
    /// When each reason was reported: that of each line would be a flood.
    private let reported = Mutex<[String: MonotonicTime]>([:])
    private static let silence: Duration = .seconds(3600)
    private static let mostReasons = 16
    private let report: @Sendable (String) -> Void

    /// - Parameter report: of why lines are lost, to people; of each reason once an hour.
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
    func limitWaiting(untilMonotonicNanoseconds deadline: UInt64?) {
        sink.limitWaiting(untilMonotonicNanoseconds: deadline)
    }

    func takeAbandonedLines() -> UInt64 {
        let lines = sink.takeAbandonedLines()
        if lines > 0 {
            state.withLock { $0.loss = "\(name): \(lines) lines that were taken did not arrive" }
            reportLoss("\(name): lines that were taken did not arrive")
        }
        return lines
    }

    func takeAbandonedNotices() -> [Notice] {
        let notices = sink.takeAbandonedNotices()
        // A total of 0: what an earlier process left. Another notice is about losses that were reported when they came about.
        let inherited = notices.reduce(0 as UInt64) { sum, notice in
            if case .dropped(let count, _, 0) = notice.content { sum + count } else { sum }
        }
        if inherited > 0 {
            state.withLock { $0.loss = "\(name): \(inherited) lines that an earlier process left did not arrive" }
        }
        return notices
    }

    var keptLines: Int? { sink.keptLines }

    var unsettledLines: Int {
        let lines = sink.unsettledLines
        state.withLock { state in
            // What waited is gone: it has arrived, or the next call reports that it has not.
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
                // A file never has lines that wait: there a line that was written is one that arrived.
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
