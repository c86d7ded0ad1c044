import Dispatch
import LagMonitor
import Synchronization

/// A disk that hangs until it is released.
final class HangingSink: RecordSink {
    let name = "hanging"
    private let gate = DispatchSemaphore(value: 0)
    private let writing = Atomic<Bool>(false)

    var isWriting: Bool { writing.load(ordering: .acquiring) }
    func release() { gate.signal() }

    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        writing.store(true, ordering: .releasing)
        gate.wait()
        gate.signal()
    }

    func close() {}
}
