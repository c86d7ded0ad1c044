import Dispatch
import Foundation
import LagMonitor
import LagMonitorConcurrency
import LagMonitorDelivery
import LagMonitorFoundation
import LagMonitorOTLP
import LagMonitorTestKit
import Synchronization
import Testing

/// What a program gets where stalls cannot be detected: everything is available, nothing fails unnecessarily, and this is
/// reported once.
@Suite struct UnsupportedTests {
    @Test func `a monitor starts, watches and stops, and reports that it is not supported`() throws {
        #expect(!StallMonitor.isSupported)
        let monitor = StallMonitor(sinks: [try FileSink(path: "/no/such/folder/stalls.jsonl"), MemorySink()])
        #expect(throws: StallMonitorError.notRunning) { try monitor.watch(ObservedRunLoop.main) }
        try monitor.start()
        #expect(monitor.isRunning)
        try monitor.watch(ObservedRunLoop.main)
        try monitor.watch(PingedQueue(.main), rules: .pings)
        try monitor.watch(FoundationLoop(RunLoop.main))
        #expect(try monitor.watchConcurrencyPool().count == 2)
        #expect(StallMonitor.expectingBlock { 7 } == 7)
        monitor.stop()
        #expect(!monitor.isRunning)
        #expect(monitor.statistics == StallMonitorStatistics())
    }

    @Test func `a configuration is checked as on Linux`() throws {
        var configuration = StallMonitorConfiguration()
        configuration.maxFrames = 257
        #expect(throws: StallMonitorError.invalidConfiguration(key: "max_frames", value: "257", allowed: "1 to 256")) {
            try StallMonitor(configuration: configuration).start()
        }
        var rules = StallRules.empty
        rules.sampling = .init(functions: 5)
        #expect(throws: StallMonitorError.self) { try rules.validate() }
    }

    /// A service that iterates over the stalls must not take their end for its own.
    @Test func `the sequence of stalls lasts until the monitor stops`() async throws {
        let monitor = StallMonitor()
        try monitor.start()
        let isOver = Mutex(false)
        let count = Task {
            let count = await monitor.stalls.reduce(into: 0) { count, _ in count += 1 }
            isOver.withLock { $0 = true }
            return count
        }
        try await Task.sleep(for: .milliseconds(50))
        #expect(!isOver.withLock { $0 })
        monitor.stop()
        #expect(await count.value == 0)
    }

    @Test func `a run loop takes no work, and says so`() throws {
        let loop = ObservedRunLoop.current
        #expect(loop.isFinished)
        #expect(!loop.perform {})
        #expect(!loop.add(RunLoopTimer(after: .zero) { _ in }, to: .default))
        #expect(throws: RunLoopError.loopFinished(name: "main")) { try loop.performAndWait { 1 } }
        #expect(throws: RunLoopError.self) { try KeepAliveThread(name: "worker") }
        loop.run()
    }

    @Test func `an executor runs its jobs`() async throws {
        let executor = try RunLoopExecutor(name: "jobs")
        #expect(await Task(executorPreference: executor) { 7 }.value == 7)
    }

    @Test func `a timer without a loop fires`() {
        let fired = DispatchSemaphore(value: 0)
        let timer = IndependentTimer(after: .milliseconds(1)) { fired.signal() }
        #expect(fired.wait(timeout: .now() + .seconds(30)) == .success)
        timer.cancel()
    }

    @Test func `a sink refuses what it would lose`() throws {
        let sinks: [any RecordSink] = [
            try FileSink(path: "lines"), MemorySink(), try OTLPSink(endpoint: "http://127.0.0.1:1"),
            FormattedSink(try StreamSink(.tcp(host: "127.0.0.1", port: 1)), .ecs), try JournalSink(),
        ]
        for sink in sinks {
            #expect(throws: SinkError.self) { try sink.write(UnsafeRawBufferPointer(start: nil, count: 0)) }
        }
    }

    @Test func `the test kit finds nothing, and makes sample records`() throws {
        let monitor = try TestMonitor()
        monitor.loop("main").work(for: .milliseconds(400))
        #expect(monitor.records.isEmpty)
        #expect(monitor.now == MonotonicTime(nanoseconds: 400_000_000))
        #expect(StallRecord.sample().message == "main was stalled for 400 ms, computing in scriptedWork()")
    }
}
