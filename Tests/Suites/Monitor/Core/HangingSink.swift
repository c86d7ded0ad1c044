import Dispatch
import LagMonitor
import Synchronization
import TestSupport
import Testing

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

/// A monitor whose reporter hangs in the line of a first stall, which is over.
struct HangingReporter {
    let sink = HangingSink()
    let monitor: StallMonitor
    let thread: KeepAliveThread

    init() throws {
        monitor = StallMonitor(configuration: MonitorTests.configuration, sinks: [sink])
        thread = try KeepAliveThread(name: "worker")
        try monitor.start()
        try monitor.watch(thread.loop)
        let injected = Injected(on: thread) { blockForTheTest(milliseconds: 250) }
        let isHanging = eventually { [sink] in injected.isOver && sink.isWriting }
        #expect(isHanging)
    }

    func endThread() {
        thread.stop()
        thread.join()
    }
}
