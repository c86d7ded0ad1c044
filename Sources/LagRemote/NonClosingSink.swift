internal import LagMonitor
internal import LagOutput
internal import Synchronization

/// A sink that several monitors write to, one at a time, and that none of them closes.
final class NonClosingSink: RecordSink {
    private let sink: any RecordSink
    private static let writeLock = Mutex(())

    init(_ sink: any RecordSink) { self.sink = sink }

    var name: String { sink.name }
    var format: RecordFormat? { sink.format }
    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        try Self.writeLock.withLock { _ throws(SinkError) in try sink.write(line) }
    }
    func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) throws(SinkError) {
        try Self.writeLock.withLock { _ throws(SinkError) in try sink.write(line, about: facts) }
    }
    func reopen() throws(SinkError) { try Self.writeLock.withLock { _ throws(SinkError) in try sink.reopen() } }
    func close() {}
    func takeAbandonedLines() -> UInt64 { sink.takeAbandonedLines() }
    func takeAbandonedNotices() -> [Notice] { sink.takeAbandonedNotices() }
    var unsettledLines: Int { sink.unsettledLines }
    var keptLines: Int? { sink.keptLines }
}
