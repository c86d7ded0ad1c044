#if NIO
    import CLagBeacon
    import Dispatch
    import Foundation
    import Glibc
    import LagMonitor
    import LagMonitorNIO
    import NIOCore
    import NIOPosix
    import TestSupport
    import Testing

    /// A running monitor and its records.
    private struct GroupWatching {
        let monitor: StallMonitor
        let collected = CollectedRecords()

        init(contexts: StallContexts? = nil) throws {
            var configuration = StallMonitorConfiguration()
            configuration.contexts = contexts
            monitor = StallMonitor(configuration: configuration)
            let collected = collected
            monitor.onStall(queue: DispatchQueue(label: "stalls")) { collected.add($0) }
            try monitor.start()
        }

        /// Blocks a loop until the stall is found.
        func stall(_ loop: any EventLoop, _ block: @escaping @Sendable () -> Void) {
            let search = StallSearch(monitor)
            loop.execute { repeat { block() } while !search.isOver }
        }

        /// The single record; no other follows.
        func record() throws -> StallRecord {
            #expect(eventually { collected.records.count == 1 })
            #expect(!eventually(milliseconds: 400) { collected.records.count > 1 })
            return try #require(collected.records.first)
        }
    }

    /// All tests that start a monitor: one at a time, because the process has only one engine.
    @Suite(.serialized) struct NIOLoopsTests {
        private static func withGroup(
            _ threads: Int,
            contexts: StallContexts? = nil,
            _ body: (MultiThreadedEventLoopGroup, GroupWatching) throws -> Void
        ) throws {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
            defer { try? group.syncShutdownGracefully() }
            let watching = try GroupWatching(contexts: contexts)
            defer { watching.monitor.stop() }
            try body(group, watching)
        }

        /// A watched loop uses one. Not all descriptors are counted: the watchdog opens the kernel's files when it first needs
        /// them.
        private static func eventDescriptors() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == "anon_inode:[eventfd]"
            }
        }

        @Test func `a blocked channel read is reported once, with its thread`() throws {
            try Self.withGroup(2) { group, watching in
                let loops = try watching.monitor.watch(group, named: "http")
                #expect(loops.map(\.name) == ["http-0", "http-1"])
                let server = try EchoServer(group, watchedBy: watching.monitor)
                defer { server.close() }
                let client = server.connect()
                defer { close(client) }
                // So that there is a last sign of life before the stall.
                #expect(eventually { loops.allSatisfy(\.detectsIdleness) })
                #expect(EchoServer.echo("a", client))
                #expect(EchoServer.echo("b", client))
                let record = try watching.record()
                #expect(record.kind == .ping && record.threadID == server.blockedThread)
                #expect(record.loop == loops.first { $0.thread.tid == server.blockedThread }?.name)
                #expect(record.names("blockInChannelRead") && record.names("channelRead"), "\(record.frames.map(\.symbol))")
                #expect(record.culprit?.contains("blockInChannelRead") ?? false, "\(record.culprit ?? "none")")
                #expect(record.cause == .syscall)
                // It began between the last sign of life and the heartbeat.
                #expect(record.durationBounds.map { $0.upperBound >= 500_000_000 } ?? false, "\(record)")
            }
        }

        @Test func `a blocked channel read names its request and its connection`() throws {
            try Self.withGroup(1, contexts: .recorded) { group, watching in
                let loops = try watching.monitor.watch(group)
                let server = try EchoServer(group, watchedBy: watching.monitor) {
                    // A message that does not begin a request belongs to the request before.
                    [
                        StallContextHandler<ByteBuffer> {
                            $0.readableBytesView.first == UInt8(ascii: "a") ? "a route" : nil
                        } attributes: {
                            ["bytes": "\($0.readableBytes)"]
                        }
                    ]
                }
                defer { server.close() }
                let client = server.connect()
                defer { close(client) }
                #expect(eventually { loops.allSatisfy(\.detectsIdleness) })
                #expect(EchoServer.echo("a", client))
                #expect(EchoServer.echo("b", client))
                let request = try #require(try watching.record().request)
                #expect(request.name == "a route" && request.running)
                #expect(request.attributes.map(\.name) == ["connection", "bytes"])
                #expect(request.attributes.first?.value.hasPrefix("127.0.0.1:") ?? false, "\(request.attributes)")
            }
        }

        @Test func `a blocked task of the shared group is found`() throws {
            let watching = try GroupWatching()
            defer { watching.monitor.stop() }
            let loops = try watching.monitor.watch(MultiThreadedEventLoopGroup.singleton, named: "shared")
            let last = try #require(loops.last)
            watching.stall(last.eventLoop) { blockInATask(milliseconds: 500) }
            let record = try watching.record()
            #expect(record.loop == last.name && record.threadID == last.thread.tid)
            #expect(record.culprit?.contains("blockInATask") ?? false, "\(record.culprit ?? "none")")
        }

        @Test func `an expected block is not a stall, but the next block is one`() throws {
            try Self.withGroup(2) { group, watching in
                let loops = try watching.monitor.watch(group)
                #expect(eventually { loops.allSatisfy(\.detectsIdleness) })
                let loop = loops[0].eventLoop
                let inside = try loop.submit {
                    StallMonitor.expectingBlock {
                        blockInATask(milliseconds: 500)
                        return loops.map(\.beacon.activity)
                    }
                }.wait()
                #expect(inside == [.expected, .notRunning])
                #expect(watching.monitor.statistics.stalls == 0)
                watching.stall(loop) { blockInATask(milliseconds: 500) }
                #expect(try watching.record().loop == loops[0].name)
            }
        }

        @Test func `a handler that waits in its own epoll instance is not idle`() throws {
            try Self.withGroup(1) { group, watching in
                let loops = try watching.monitor.watch(group)
                #expect(eventually { loops[0].detectsIdleness })
                watching.stall(group.next()) { blockInAnotherEpoll(milliseconds: 500) }
                #expect(try watching.record().names("blockInAnotherEpoll"))
            }
        }

        @Test func `a handler that waits in its own epoll is found before the loop was seen idle`() throws {
            try Self.withGroup(1) { group, watching in
                let loops = NIOLoops(group, named: "nio")
                watching.stall(group.next()) { blockInAnotherEpoll(milliseconds: 800) }
                try watching.monitor.watch(loops[0], rules: .eventLoops)
                #expect(try watching.record().names("blockInAnotherEpoll"))
                #expect(eventually { loops[0].detectsIdleness })
            }
        }

        @Test func `idle loops are never woken`() throws {
            try Self.withGroup(4) { group, watching in
                let loops = try watching.monitor.watch(group)
                #expect(eventually { loops.allSatisfy(\.detectsIdleness) })
                let before = loops.map(\.heartbeats)
                sleep(2)
                #expect(zip(before, loops).allSatisfy { $1.heartbeats - $0 <= 1 })
                // It is polled nevertheless.
                #expect(loops.allSatisfy { MonotonicTime.now.nanoseconds - clb_beacon_pong_ns($0.beacon.raw) < 1_000_000_000 })
                #expect(watching.collected.records.isEmpty)
            }
        }

        @Test func `the lag of a blocked loop is measured, and an idle loop has none`() throws {
            try Self.withGroup(2) { group, watching in
                let loops = try watching.monitor.watch(group)
                #expect(eventually { loops.allSatisfy(\.detectsIdleness) })
                let end = DispatchSemaphore(value: 0)
                defer { end.signal() }
                loops[0].eventLoop.execute { end.wait() }
                #expect(eventually { (loops[0].knownLagNanoseconds ?? 0) > 200_000_000 })
                // The other loop's on a busy machine slightly later, and never if it had the first one's, which grows.
                #expect(eventually { loops[1].knownLagNanoseconds.map { $0 < 200_000_000 } == true })
                end.signal()
                #expect(eventually { loops[0].knownLagNanoseconds == 0 })
            }
        }

        @Test func `load is not a stall`() throws {
            try Self.withGroup(2) { group, watching in
                let loops = try watching.monitor.watch(group)
                let server = try EchoServer(group, watchedBy: watching.monitor)
                defer { server.close() }
                let end = MonotonicTime.now + .seconds(3)
                DispatchQueue.concurrentPerform(iterations: 3) { _ in
                    let client = server.connect()
                    defer { close(client) }
                    while MonotonicTime.now < end { guard EchoServer.echo("a", client) else { return } }
                }
                #expect(watching.collected.records.isEmpty && watching.monitor.statistics.stalls == 0)
                // At most one per interval.
                #expect(loops.allSatisfy { $0.heartbeats < 100 })
            }
        }

        @Test func `a loop that is blocked from the beginning is watched without stacks`() throws {
            try Self.withGroup(1) { group, watching in
                watching.stall(group.next()) { blockInATask(milliseconds: 2000) }
                try watching.monitor.watch(group)
                let record = try watching.record()
                #expect(record.capture == .none && record.captureError == "thread_unknown")
            }
        }

        @Test func `unwatched loops are released`() throws {
            try Self.withGroup(2) { group, watching in
                let before = try Self.eventDescriptors()
                weak var loop: NIOLoop?
                try {
                    let loops = try watching.monitor.watch(group)
                    loop = loops[1]
                    #expect(try Self.eventDescriptors() == before + 2)
                    watching.monitor.unwatch(loops)
                }()
                #expect(eventually { loop == nil && (try? Self.eventDescriptors()) == before })
            }
        }

        @Test func `a group that shuts down under load is given no work afterwards`() throws {
            let watching = try GroupWatching()
            defer { watching.monitor.stop() }
            // NIO reports, on standard error, work that a loop is given after its end.
            let path = "/tmp/lagmonitor-nio-\(getpid())"
            let (file, saved) = (open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600), dup(2))
            var text = ""
            weak var watched: NIOLoop?
            // Rounds; in each, a busy machine may give the loops no processor in time for a heartbeat.
            var (beating, unfinished) = (0, 0)
            do {
                // The test's own reports go there too: no expectation is checked before this is undone.
                dup2(file, 2)
                defer {
                    dup2(saved, 2)
                    close(saved)
                    unlink(path)
                }
                for _ in 0..<20 {
                    let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
                    let loops = try watching.monitor.watch(group)
                    watched = loops[0]
                    // Always busy, so that there are as many heartbeats as possible: also at the very end, and afterwards.
                    for loop in loops { Self.turn(loop.eventLoop, until: MonotonicTime.now + .milliseconds(30)) }
                    let beats = DispatchGroup()
                    let end = MonotonicTime.now + .milliseconds(60)
                    DispatchQueue.global().async(group: beats) {
                        while MonotonicTime.now < end { for loop in loops { loop.ping() } }
                    }
                    usleep(20_000)
                    try group.syncShutdownGracefully()
                    beats.wait()
                    if loops.contains(where: { $0.heartbeats > 0 }) { beating += 1 }
                    if !loops.allSatisfy({ $0.beacon.activity == .finished }) { unfinished += 1 }
                }
                usleep(50_000)
                var bytes = [UInt8](repeating: 0, count: 4096)
                let length = pread(file, &bytes, bytes.count, 0)
                text = String(decoding: bytes.prefix(max(0, length)), as: UTF8.self)
                close(file)
            }
            #expect(!text.contains("ERROR"), "\(text)")
            #expect(beating > 0 && unfinished == 0, "\(beating) \(unfinished)")
            #expect(eventually { watched == nil })
            #expect(watching.collected.records.isEmpty)
        }

        /// Short tasks, one after the other. Not too short: a loop that shuts down takes at most a thousand further ones.
        private static func turn(_ loop: any EventLoop, until end: MonotonicTime) {
            loop.execute {
                let pause = MonotonicTime.now + .microseconds(50)
                while MonotonicTime.now < pause {}
                if pause < end { turn(loop, until: end) }
            }
        }

        @Test func `a monitor that does not run refuses to watch a group`() throws {
            try Self.withGroup(1) { group, watching in
                #expect(throws: StallMonitorError.notRunning) { try StallMonitor().watch(group) }
                #expect(throws: StallMonitorError.self) { try watching.monitor.watch(group, rules: StallRules()) }
            }
        }
    }
#endif
