#if NIO
    import Glibc
    import LagMonitor
    import LagMonitorConcurrency
    import LagMonitorNIO
    import NIOCore
    import NIOPosix
    import Dispatch
    import Synchronization
    import TestSupport
    import Testing

    /// Handlers that block their thread slightly longer than the threshold, while other requests wait for the same thread: which
    /// one the record names.
    @Suite(.serialized) struct HandlerRequestTests {
        /// How a request is served.
        enum Service: CaseIterable {
            case mainActor, taskPreference, actorOfRunLoop, eventLoopTasks, eventLoopFutures, pool, child, detached, cancelled

            /// How long one blocks at least. If callbacks are observed, slightly longer than the threshold; a ping comes up to
            /// 50 ms after a stall begins.
            var milliseconds: Int {
                switch self {
                case .taskPreference, .actorOfRunLoop, .cancelled: 165
                default: 215
                }
            }
        }

        /// On a thread of a run loop, or of SwiftNIO.
        private actor Session {
            private nonisolated let executor: any SerialExecutor

            init(on executor: any SerialExecutor) { self.executor = executor }
            nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

            func serve(_ name: String, after milliseconds: Int, _ work: @Sendable () -> Void) async {
                await withStallContext(name: name) {
                    try? await Task.sleep(for: .milliseconds(milliseconds))
                    run(work)
                }
            }

            private func run(_ work: () -> Void) { work() }
        }

        private struct Threads {
            let runLoop: RunLoopExecutor
            let group: MultiThreadedEventLoopGroup
            var loop: any EventLoop { group.any() }
        }

        @MainActor private static func serveOnMainActor(_ name: String, after milliseconds: Int, _ work: () -> Void) async {
            await withStallContext(name: name) {
                try? await Task.sleep(for: .milliseconds(milliseconds))
                work()
            }
        }

        private static func serveInChild(_ name: String, after milliseconds: Int, _ work: @escaping @Sendable () -> Void) async {
            await withStallContext(name: name) {
                try? await Task.sleep(for: .milliseconds(milliseconds))
                await withTaskGroup(of: Void.self) { group in group.addTask { work() } }
            }
        }

        /// Begins a request.
        private static func begin(
            _ name: String,
            _ service: Service,
            _ threads: Threads,
            after milliseconds: Int,
            _ work: @escaping @Sendable () -> Void
        ) -> Task<Void, Never> {
            switch service {
            case .mainActor: return Task { await serveOnMainActor(name, after: milliseconds, work) }
            case .taskPreference:
                return Task.detached(executorPreference: threads.runLoop) {
                    await withStallContext(name: name) {
                        try? await Task.sleep(for: .milliseconds(milliseconds))
                        work()
                    }
                }
            case .actorOfRunLoop, .cancelled:
                let session = Session(on: threads.runLoop)
                return Task { await session.serve(name, after: milliseconds, work) }
            case .eventLoopTasks:
                let session = Session(on: threads.loop.executor)
                return Task { await session.serve(name, after: milliseconds, work) }
            case .eventLoopFutures:
                let done = threads.loop.scheduleTask(in: .milliseconds(Int64(milliseconds))) {}.futureResult
                    .map { withStallContext(name: name) { work() } }
                return Task { try? await done.get() }
            case .pool:
                return Task.detached(priority: .medium) {
                    await withStallContext(name: name) {
                        try? await Task.sleep(for: .milliseconds(milliseconds))
                        work()
                    }
                }
            case .child: return Task.detached(priority: .medium) { await serveInChild(name, after: milliseconds, work) }
            case .detached:
                return Task {
                    // In no request any more, whatever it was created in.
                    await withStallContext(name: "GET /outer") {
                        await Task.detached(priority: .medium) { await withStallContext(name: name) { await workLater(work) } }
                            .value
                    }
                }
            }
        }

        private static func workLater(_ work: () -> Void) async {
            try? await Task.sleep(for: .milliseconds(40))
            work()
        }

        private static func spin(_ milliseconds: Int) {
            let end = MonotonicTime.now + .milliseconds(milliseconds)
            while MonotonicTime.now < end {}
        }

        private static func watch(_ service: Service, _ threads: Threads, _ monitor: StallMonitor) throws {
            switch service {
            case .mainActor:
                var rules = StallRules.empty
                rules.ping = .init()
                try monitor.watch(PingedQueue(.main), rules: rules)
            case .taskPreference, .actorOfRunLoop, .cancelled: try monitor.watch(threads.runLoop.loop)
            case .eventLoopTasks, .eventLoopFutures: try monitor.watch(threads.group, named: "http")
            case .pool, .child, .detached: try monitor.watchConcurrencyPool([.high, .medium])
            }
        }

        @Test(arguments: Service.allCases)
        func `the request that blocked the thread is named, never one that waited`(service: Service)
            async throws
        {
            var configuration = StallMonitorConfiguration()
            configuration.contexts = .recorded
            configuration.limits = .none
            let monitor = StallMonitor(configuration: configuration)
            let collected = CollectedRecords()
            monitor.onStall(queue: DispatchQueue(label: "stalls")) { if $0.phase == .end { collected.add($0) } }
            let threads = Threads(
                runLoop: try RunLoopExecutor(name: "requests"),
                group: MultiThreadedEventLoopGroup(numberOfThreads: 1)
            )
            try monitor.start()
            try Self.watch(service, threads, monitor)
            let rounds = 6
            // Requests that had no processor for nearly the threshold: they may have blocked their thread themselves.
            let delayed = Atomic<Int>(0)
            for round in 0..<rounds {
                try await Task.sleep(for: .milliseconds(90 + 13 * round))
                let waiting = (0..<3).map { number in
                    Self.begin("GET /waits/\(number)", service, threads, after: 60 + 20 * number) {
                        let begin = MonotonicTime.now
                        Self.spin(number * 3)
                        if MonotonicTime.now - begin > .milliseconds(100) { delayed.add(1, ordering: .relaxed) }
                    }
                }
                // On a busy machine, a ping or a sample may miss a stall that is only slightly longer than the threshold.
                let search = StallSearch(monitor)
                let guilty = Self.begin("GET /blocks", service, threads, after: 30) {
                    repeat {
                        if round % 2 == 0 { Self.spin(service.milliseconds) } else { usleep(UInt32(service.milliseconds) * 1000) }
                    } while !search.isOver
                }
                if service == .cancelled { for task in waiting + [guilty] { task.cancel() } }
                for task in waiting + [guilty] { await task.value }
            }
            // On a busy machine, a request that waits may end a search by its own stall.
            #expect(eventually { collected.records.count { $0.request?.name.hasPrefix("GET /waits/") != true } >= rounds - 2 })
            monitor.stop()
            try await threads.group.shutdownGracefully()
            let own = collected.records.filter { $0.cause == .runqueue && $0.request?.name.hasPrefix("GET /waits/") == true }
            #expect(own.count <= delayed.load(ordering: .relaxed), "\(own)")
            let records = collected.records.filter { !own.contains($0) }
            let names = records.map { $0.request?.name ?? "-" }
            print("requests \(service): \(names) \(records.map { "\($0.duration)" })")
            #expect(names.allSatisfy { $0 == "GET /blocks" || $0 == "-" }, "\(names)")
            // On a busy machine, the watchdog may read too rarely to know the request.
            #expect(names.count { $0 == "GET /blocks" } >= rounds / 2, "\(names)")
            for record in records where record.request != nil {
                let waiting = record.requestsOpen.filter { !$0.running }.map(\.name)
                #expect(!waiting.contains("GET /blocks"), "\(waiting)")
                if service != .detached { #expect(waiting.allSatisfy { $0.hasPrefix("GET /waits/") }, "\(waiting)") }
            }
        }
    }
#endif
