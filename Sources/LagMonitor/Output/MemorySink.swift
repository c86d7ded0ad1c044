internal import LagModel

/// Keeps lines in memory, for tests. Any thread.
public final class MemorySink: RecordSink {
    private struct State {
        var lines: [[UInt8]] = []
        var failure: SinkError?
        var isClosed = false
    }

    public let name: String
    private let state = PthreadMutex(State())

    public init(name: String = "memory") { self.name = name }

    /// The lines so far, newlines included.
    public var lines: [String] { state.withLock { $0.lines.map { String(decoding: $0, as: UTF8.self) } } }
    public var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Every write throws this error from now on; nil lets writes succeed again.
    public func fail(with error: SinkError?) { state.withLock { $0.failure = error } }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        let bytes = [UInt8](line)
        let error: SinkError? = state.withLock { state in
            if state.isClosed { return SinkError(.closed, path: name) }
            if let failure = state.failure { return failure }
            state.lines.append(bytes)
            return nil
        }
        if let error { throw error }
    }

    public func resume() throws(SinkError) { state.withLock { $0.isClosed = false } }

    public func close() { state.withLock { $0.isClosed = true } }
}
