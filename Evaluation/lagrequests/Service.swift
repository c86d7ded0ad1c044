internal import Foundation
internal import LagModel
internal import LagMonitor
internal import LagMonitorConcurrency
internal import Synchronization

#if NIO
    internal import LagMonitorNIO
    internal import NIOCore
    internal import NIOPosix
#endif

/// Fifty clients, each with one request at a time, until enough of these have blocked.
enum Service {
    static let clients = 50
    /// One request in so many blocks.
    private static let blockingShare = 200
    /// For the last one's end.
    static let settlingMicroseconds: UInt32 = 1_500_000

    /// What a request is to do: number, and whether it blocks.
    final class Requests: Sendable {
        private let next = Atomic<Int>(0)
        let truth = Truth()
        let stalls: Int

        init(stalls: Int) { self.stalls = stalls }

        var isDone: Bool { truth.count >= stalls }
        func take() -> Int { next.add(1, ordering: .relaxed).newValue }
        func work(_ request: Int) { if request % blockingShare == 0, !isDone { truth.block(request) } }
    }

    static func run(_ mode: String, stalls: Int) throws -> Score {
        let records = Records()
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded
        configuration.limits = .none
        let monitor = StallMonitor(configuration: configuration)
        monitor.onStall(queue: .global()) { records.add($0) }
        try monitor.start()
        defer { monitor.stop() }
        let requests = Requests(stalls: stalls)
        switch mode {
        case "actors":
            try monitor.watchConcurrencyPool([.high, .medium])
            runClients(requests) { [bank = Bank()] in await serve($0, requests) { await bank.book($0, requests) } }
        case "main-actor":
            try monitor.watch(PingedQueue(.main), rules: .heartbeat)
            // Of two requests one is the main actor's from its beginning, and is open there while it waits.
            runClients(requests) { number in
                if number & 1 == 0 {
                    await serve(number, requests) { await Screen.show($0, requests) }
                } else {
                    await Screen.serve(number, requests)
                }
            }
        case "tasks":
            try monitor.watchConcurrencyPool([.high, .medium])
            runClients(requests) { number in
                await serve(number, requests) { number in
                    async let child: Void = compute(number, requests)
                    await child
                }
            }
        case "nio", "nio-tasks":
            #if NIO
                try NIOService.run(requests, monitor, byTasks: mode == "nio-tasks")
            #else
                throw NotBuilt()
            #endif
        default: preconditionFailure("the mode \(mode) is not one of \(Lagrequests.modes)")
        }
        usleep(settlingMicroseconds)
        return Score(records.all, requests.truth.all)
    }

    struct NotBuilt: Error, CustomStringConvertible {
        var description: String { "built without the trait NIO" }
    }

    private final class Records: Sendable {
        private let records = PthreadMutex<[StallRecord]>([])

        func add(_ record: StallRecord) { if record.phase == .end { records.withLock { $0.append(record) } } }
        var all: [StallRecord] { records.withLock { $0 } }
    }

    /// Waits for tasks, on a thread that runs none.
    private static func runClients(_ requests: Requests, _ serve: @escaping @Sendable (Int) async -> Void) {
        let group = DispatchGroup()
        for _ in 0..<clients {
            group.enter()
            Task.detached(priority: .medium) {
                while !requests.isDone { await serve(requests.take()) }
                group.leave()
            }
        }
        group.wait()
    }

    /// On the caller's actor, where it has one.
    nonisolated(nonsending) fileprivate static func serve(
        _ number: Int,
        _ requests: Requests,
        _ body: nonisolated(nonsending) (Int) async -> Void
    ) async {
        await withStallContext(name: "GET /orders/:id", ["id": "\(number)"]) {
            try? await Task.sleep(for: .microseconds(500 + number % 7 * 300))
            await body(number)
            try? await Task.sleep(for: .microseconds(200))
        }
    }

    private static func compute(_ number: Int, _ requests: Requests) async {
        try? await Task.sleep(for: .microseconds(100))
        requests.work(number)
    }

    private actor Bank {
        private var booked = 0

        func book(_ number: Int, _ requests: Requests) {
            booked += 1
            requests.work(number)
        }
    }

    @MainActor private enum Screen {
        static func show(_ number: Int, _ requests: Requests) { requests.work(number) }

        static func serve(_ number: Int, _ requests: Requests) async {
            await Service.serve(number, requests) { show($0, requests) }
        }
    }
}

#if NIO
    /// A server of lines on the loopback interface: a request is a byte, its answer another.
    enum NIOService {
        /// - Parameter byTasks: whether requests are served by tasks on the loop, and are open there while they wait; else by a handler, which runs to its end,
        ///   so that no other request is ever open, and two that block in one turn are one stall.
        static func run(_ requests: Service.Requests, _ monitor: StallMonitor, byTasks: Bool) throws {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
            defer { try? group.syncShutdownGracefully() }
            let loops = try monitor.watch(group, named: "http")
            defer { monitor.unwatch(loops) }
            let server = try ServerBootstrap(group: group).childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(requests, byTasks))
                }
            }.bind(host: "127.0.0.1", port: 0).wait()
            let port = in_port_t(server.localAddress?.port ?? 0)
            let clients = DispatchGroup()
            for _ in 0..<Service.clients {
                clients.enter()
                Thread.detachNewThread {
                    request(port, while: { !requests.isDone })
                    clients.leave()
                }
            }
            clients.wait()
            // Before the watch ends: a stall that it ends has no end of its own.
            usleep(Service.settlingMicroseconds)
            try server.close().wait()
        }

        private static func request(_ port: in_port_t, while isWanted: () -> Bool) {
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(client) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard result == 0 else { return }
            var byte: UInt8 = 1
            while isWanted() {
                guard send(client, &byte, 1, Int32(MSG_NOSIGNAL)) == 1, recv(client, &byte, 1, 0) == 1 else { return }
                usleep(500)
            }
        }

        /// Runs on the event loop.
        private actor Session {
            private nonisolated let loop: any EventLoop

            init(loop: any EventLoop) { self.loop = loop }

            // The loop itself, which outlives what runs on it.
            nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }

            func serve(_ number: Int, _ requests: Service.Requests) async {
                await Service.serve(number, requests) { self.work($0, requests) }
            }

            private func work(_ number: Int, _ requests: Service.Requests) { requests.work(number) }
        }

        private final class Handler: ChannelInboundHandler, Sendable {
            typealias InboundIn = ByteBuffer
            private let requests: Service.Requests
            private let byTasks: Bool

            init(_ requests: Service.Requests, _ byTasks: Bool) {
                self.requests = requests
                self.byTasks = byTasks
            }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                let number = requests.take()
                guard !byTasks else {
                    let (session, channel) = (Session(loop: context.eventLoop), context.channel)
                    Task {
                        await session.serve(number, requests)
                        channel.writeAndFlush(ByteBuffer(bytes: [1]), promise: nil)
                    }
                    return
                }
                withStallContext(name: "GET /orders/:id", ["id": "\(number)"]) { requests.work(number) }
                context.writeAndFlush(data, promise: nil)
            }
        }
    }
#endif
