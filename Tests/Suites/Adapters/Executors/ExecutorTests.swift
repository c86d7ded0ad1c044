import Foundation
import LagMonitor
import LagMonitorConcurrency
import TestSupport
import Testing

/// An actor on its own thread.
private actor Store {
    private let executor: RunLoopExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var values: [Int] = []

    init(_ executor: RunLoopExecutor) { self.executor = executor }

    @inline(never) func blockInTheActor() { usleep(300_000) }
    func add(_ value: Int) { values.append(value) }
    var count: Int { values.count }
    var thread: Int32 { ThreadIdentity.current.tid }
    func endThread() { KeepAliveThread.stopCurrent() }

    nonisolated func assumedCount() -> Int { assumeIsolated { $0.values.count } }
    func isAssumable() -> Bool { assumedCount() == values.count }

    func threadAfterSuspending() async -> Int32 {
        try? await Task.sleep(for: .milliseconds(10))
        return ThreadIdentity.current.tid
    }
}

/// In this function itself, so that no other code can be the culprit.
/// - Returns: whether it certainly answers a signal: the watchdog waits for 50 ms, and the thread may have been without a
///   processor for longer.
@inline(never) private func spinInATask(milliseconds: Int) -> Bool {
    let end = MonotonicTime.now + .milliseconds(milliseconds)
    var (last, answersInTime) = (MonotonicTime.now, true)
    while last < end {
        let now = MonotonicTime.now
        if now - last >= .milliseconds(25) { answersInTime = false }
        last = now
    }
    return answersInTime
}

@Suite(.serialized) struct ExecutorTests {
    @Test func `an actor runs on its thread`() async throws {
        let executor = try RunLoopExecutor(name: "actor")
        let store = Store(executor)
        #expect(await store.thread == executor.loop.thread.tid)
        #expect(await store.threadAfterSuspending() == executor.loop.thread.tid)
        #expect(await store.isAssumable())
        await withTaskGroup { group in for value in 0..<1000 { group.addTask { await store.add(value) } } }
        #expect(await store.count == 1000)
    }

    @Test func `an actor that blocks is found on its thread`() async throws {
        let executor = try RunLoopExecutor(name: "blocked")
        let (sink, monitor) = try watch(executor)
        defer { monitor.stop() }
        await Store(executor).blockInTheActor()
        try expectStall(in: "blockInTheActor", on: executor, sink)
    }

    @Test func `a task with the executor preference is found too`() async throws {
        let executor = try RunLoopExecutor(name: "preferred")
        let (sink, monitor) = try watch(executor)
        defer { monitor.stop() }
        let answersInTime = await withTaskExecutorPreference(executor) { spinInATask(milliseconds: 300) }
        try expectStall(in: "spinInATask", on: executor, sink, hasStack: answersInTime)
    }

    @Test func `jobs are not lost when the thread of the executor ends`() async throws {
        let executor = try RunLoopExecutor(name: "ended")
        let store = Store(executor)
        async let adding: Void = withTaskGroup { group in for value in 0..<200 { group.addTask { await store.add(value) } } }
        await store.endThread()
        await adding
        #expect(await store.count == 200)
        // The remaining jobs ran elsewhere, perhaps before the thread ended.
        #expect(eventually { executor.isFinished })
        #expect(await store.thread != executor.loop.thread.tid)
    }

    @Test func `the thread of an executor ends when the last reference is released`() async throws {
        let loop: ObservedRunLoop
        do {
            let executor = try RunLoopExecutor(name: "released")
            loop = executor.loop
            await Store(executor).add(1)
        }
        for _ in 0..<5000 where !loop.isFinished { try await Task.sleep(for: .milliseconds(2)) }
        #expect(loop.isFinished)
    }

    private func watch(_ executor: RunLoopExecutor) throws -> (MemorySink, StallMonitor) {
        let sink = MemorySink()
        var configuration = StallMonitorConfiguration()
        configuration.rules.callout = .init(interval: .milliseconds(40))
        let monitor = StallMonitor(configuration: configuration, sinks: [sink])
        try monitor.start()
        try monitor.watch(executor.loop)
        return (sink, monitor)
    }

    /// - Parameter hasStack: false: on this machine there may be no stack.
    private func expectStall(in function: String, on executor: RunLoopExecutor, _ sink: MemorySink, hasStack: Bool = true) throws
    {
        for _ in 0..<5000 where sink.lines.isEmpty { usleep(2000) }
        #expect(sink.lines.count == 1, "\(sink.lines)")
        let line = try #require(sink.lines.first)
        let fields = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect((fields["thread_id"] as? NSNumber)?.int32Value == executor.loop.thread.tid)
        #expect((fields["culprit"] as? String ?? "").contains(function) || !hasStack, "\(line)")
    }
}
