internal import Foundation
internal import LagMonitor
internal import LagMonitorNIO
internal import NIOCore
internal import NIOPosix

/// A server on SwiftNIO: a request is its number in eight bytes, and the response is the same.
enum NIOService {
    private static let requestBytes = 8

    /// - Parameter byTasks: whether tasks on the loop serve the requests, which are open there while they wait. Otherwise a
    ///   handler serves each request to its end, so that no other request is open, and two requests that block in one iteration
    ///   are one stall.
    static func run(_ requests: Service.Requests, _ monitor: StallMonitor, byTasks: Bool, _ settle: () -> Void) throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        defer { try? group.syncShutdownGracefully() }
        let loops = try monitor.watch(group, named: "http")
        defer { monitor.unwatch(loops) }
        let server = try ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                if !byTasks {
                    // The bridge. For tasks, `withStallContext` is the bridge.
                    try pipeline.addHandler(
                        StallContextHandler<ByteBuffer> { _ in
                            "GET /orders/:id"
                        } attributes: {
                            ["id": "\(number(in: $0))"]
                        }
                    )
                }
                try pipeline.addHandler(Handler(requests, byTasks))
            }
        }.bind(host: "127.0.0.1", port: 0).wait()
        let port = server.localAddress?.port ?? 0
        LoopbackClient.runAll(requests) {
            guard let client = LoopbackClient(port: port) else { return }
            while !requests.isDone {
                let number = UInt64(requests.take())
                let bytes = (0..<requestBytes).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
                guard client.send(bytes), client.receive(requestBytes) != nil else { return }
                usleep(500)
            }
        }
        settle()
        try server.close().wait()
    }

    private static func number(in buffer: ByteBuffer) -> Int {
        buffer.getInteger(at: buffer.readerIndex, as: UInt64.self).map(Int.init) ?? 0
    }

    /// Runs on the event loop.
    private actor Session {
        private nonisolated let loop: any EventLoop

        init(loop: any EventLoop) { self.loop = loop }

        // The loop itself, which outlives the tasks that run on it.
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }

        func serve(_ number: Int, _ requests: Service.Requests) async {
            await TaskService.serve(number, requests) { self.work($0, requests) }
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
            let (request, requests) = (unwrapInboundIn(data), requests)
            guard byTasks else {
                requests.work(number(in: request))
                context.writeAndFlush(data, promise: nil)
                return
            }
            let (session, channel) = (Session(loop: context.eventLoop), context.channel)
            Task {
                await session.serve(number(in: request), requests)
                channel.writeAndFlush(request, promise: nil)
            }
        }
    }
}
