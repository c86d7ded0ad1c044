internal import LagActivity
internal import LagModel
internal import LagMonitor
internal import LagOutput
internal import Synchronization

/// A sink that several monitors write to, one at a time, without closing it.
final class NonClosingSink: RecordSink {
    private struct Waiting {
        var limit: MonotonicTime?
        var isWriting = false
    }

    private let sink: any RecordSink
    private static let writeLock = Mutex(())
    /// Until when this monitor's lines may wait, independently of other monitors: set in the sink while such a line is written.
    private let waiting = PthreadMutex(Waiting())

    init(_ sink: any RecordSink) { self.sink = sink }

    var name: String { sink.name }
    var format: RecordFormat? { sink.format }
    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        try writing { () throws(SinkError) in try sink.write(line) }
    }
    func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) throws(SinkError) {
        try writing { () throws(SinkError) in try sink.write(line, about: facts) }
    }
    func reopen() throws(SinkError) { try Self.writeLock.withLock { _ throws(SinkError) in try sink.reopen() } }
    func close() {}
    func limitWaiting(until deadline: MonotonicTime?) {
        waiting.withLock { waiting in
            waiting.limit = deadline
            if waiting.isWriting { sink.limitWaiting(until: deadline) }
        }
    }
    func takeAbandonedLines() -> UInt64 { sink.takeAbandonedLines() }
    func takeAbandonedNotices() -> [Notice] { sink.takeAbandonedNotices() }
    var unsettledLines: Int { sink.unsettledLines }
    var keptLines: Int? { sink.keptLines }

    private func writing(_ write: () throws(SinkError) -> Void) throws(SinkError) {
        try Self.writeLock.withLock { _ throws(SinkError) in
            setWriting(true)
            defer { setWriting(false) }
            try write()
        }
    }

    private func setWriting(_ isWriting: Bool) {
        waiting.withLock { waiting in
            waiting.isWriting = isWriting
            if waiting.limit != nil { sink.limitWaiting(until: isWriting ? waiting.limit : nil) }
        }
    }
}
