#if ServiceLifecycle && Logging
    import Dispatch
    import LagMonitor
    @testable import LagMonitorLifecycle
    import ServiceLifecycle
    import ServiceLifecycleTestKit
    import Synchronization
    import Testing

    @Suite struct LifecycleTests {
        @Test func `a shutdown delivers all records`() async throws {
            let sink = MemorySink()
            var configuration = StallMonitorConfiguration()
            configuration.rules.callout = .init(interval: .milliseconds(20), timeouts: 2)
            let monitor = StallMonitor(configuration: configuration, sinks: [sink])
            let thread = try KeepAliveThread(name: "serving")
            defer {
                thread.stop()
                thread.join()
            }
            let isFree = Mutex(false)
            try await testGracefulShutdown { trigger in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await StallMonitorService(monitor, watching: [thread.loop]).run() }
                    while !monitor.isRunning { try await Task.sleep(for: .milliseconds(2)) }
                    // One stall that has ended, and one in progress when the shutdown begins.
                    thread.perform { sleepForTheTest(milliseconds: 200) }
                    while sink.lines.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
                    thread.perform { while !isFree.withLock({ $0 }) { sleepForTheTest(milliseconds: 5) } }
                    while monitor.statistics.stalls < 2 { try await Task.sleep(for: .milliseconds(5)) }
                    #expect(sink.lines.count == 1 && monitor.isRunning)
                    trigger.triggerGracefulShutdown()
                    try await group.waitForAll()
                }
            }
            #expect(!monitor.isRunning && sink.isClosed)
            #expect(sink.lines.count == 2 && sink.lines[1].contains(#""phase":"abandoned""#))
            isFree.withLock { $0 = true }
        }

        @Test func `a shutdown reports the stall in progress before other services end`() async throws {
            let sink = MemorySink()
            var configuration = StallMonitorConfiguration()
            configuration.rules.callout = .init(interval: .milliseconds(20), timeouts: 2)
            let monitor = StallMonitor(configuration: configuration, sinks: [sink])
            try monitor.start()
            defer { monitor.stop() }
            let thread = try KeepAliveThread(name: "serving")
            let isFree = Mutex(false)
            defer {
                isFree.withLock { $0 = true }
                thread.stop()
                thread.join()
            }
            try monitor.watch(thread.loop)
            try await testGracefulShutdown { trigger in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await StallReportService(monitor).run() }
                    thread.perform { while !isFree.withLock({ $0 }) { sleepForTheTest(milliseconds: 5) } }
                    while monitor.statistics.stalls < 1 { try await Task.sleep(for: .milliseconds(5)) }
                    trigger.triggerGracefulShutdown()
                    try await group.waitForAll()
                }
            }
            // Long before `hangAfter`, and the stall continues.
            while sink.lines.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            #expect(sink.lines.count == 1 && sink.lines[0].contains(#""phase":"begin""#))
        }

        @Test func `a cancelled task stops the monitor`() async throws {
            let monitor = StallMonitor()
            let task = Task { try await StallMonitorService(monitor, watching: []).run() }
            while !monitor.isRunning { try await Task.sleep(for: .milliseconds(2)) }
            task.cancel()
            try await task.value
            #expect(!monitor.isRunning)
        }

        /// The pools of the test run are shared: other tests may cause records as well.
        @Test func `a service in one line finds a handler that blocks its thread`() async throws {
            let monitor = StallMonitor()
            let blocked = Mutex<[StallRecord]>([])
            let handler = monitor.onStall(queue: DispatchQueue(label: "found")) { record in
                guard record.frames.contains(where: { $0.symbol?.contains("blockTheHandler") ?? false }) else { return }
                blocked.withLock { $0.append(record) }
            }
            #if NIO
                let service = StallMonitorService(monitor, eventLoopGroup: nil)
            #else
                let service = StallMonitorService(monitor)
            #endif
            let task = Task { try await service.run() }
            while !monitor.isRunning { try await Task.sleep(for: .milliseconds(2)) }
            // The pools are watched right after the start.
            try await Task.sleep(for: .milliseconds(300))
            await Task.detached(priority: .high) { blockTheHandler() }.value
            for _ in 0..<1000 where blocked.withLock({ $0.isEmpty }) { try await Task.sleep(for: .milliseconds(5)) }
            let record = try #require(blocked.withLock { $0.first })
            #expect(record.loop == "pool.high" && record.kind == .callout && record.threadID > 0)
            #expect(record.durationNanoseconds > 200_000_000)
            task.cancel()
            try await task.value
            handler.cancel()
        }

        @Test func `a loop that cannot be watched ends the service with an error`() async throws {
            let monitor = StallMonitor()
            let service = StallMonitorService(monitor, watching: [PingedQueue(.main)])
            await #expect(throws: StallMonitorError.self) { try await service.run() }
            #expect(!monitor.isRunning)
        }

        private final class End: Sendable {
            let isThere = Mutex(false)
        }

        private static let failure = StallMonitorError.captureUnavailable(reason: "cannot load libunwind-x86_64.so.8")

        /// The group's other services continue.
        @Test func `if no monitor can start, the service logs this and keeps running`() async throws {
            let kept = Kept()
            var service = StallMonitorService(StallMonitor(), logger: kept.logger())
            service.start = { _ in throw Self.failure }
            let end = End()
            let lasting = service
            try await testGracefulShutdown { trigger in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await lasting.run()
                        end.isThere.withLock { $0 = true }
                    }
                    while kept.messages.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
                    try await Task.sleep(for: .milliseconds(50))
                    #expect(!end.isThere.withLock { $0 })
                    #expect(kept.messages == ["no stall will be found: cannot load libunwind-x86_64.so.8"])
                    trigger.triggerGracefulShutdown()
                    try await group.waitForAll()
                }
            }
        }

        @Test func `if a monitor is required but cannot start, the service fails`() async {
            var service = StallMonitorService(StallMonitor(), isRequired: true)
            service.start = { _ in throw Self.failure }
            let failing = service
            await #expect(throws: Self.failure) { try await failing.run() }
        }

        @Test func `an invalid setting makes the service fail`() async {
            var configuration = StallMonitorConfiguration()
            configuration.maxFrames = 0
            let service = StallMonitorService(StallMonitor(configuration: configuration))
            await #expect(throws: StallMonitorError.self) { try await service.run() }
        }
    }

    @inline(never) @_optimize(none) private func blockTheHandler() { sleepForTheTest(milliseconds: 400) }
#endif
