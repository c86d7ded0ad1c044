import LagMonitor
import LagMonitorNIO
internal import NIOCore
internal import NIOPosix
import Synchronization

/// An echo server and clients that keep it busy, on the loopback interface.
final class EchoTraffic: Sendable {
    private final class Server: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.writeAndFlush(data, promise: nil) }
    }

    /// Sends received bytes back, and counts messages.
    private final class Client: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let count: Count

        init(_ count: Count) { self.count = count }

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(NIOAny(ByteBuffer(repeating: 65, count: 64)), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            count.echoes.add(1, ordering: .relaxed)
            context.writeAndFlush(data, promise: nil)
        }
    }

    private final class Count: Sendable {
        let echoes = Atomic<UInt64>(0)
    }

    private let count = Count()
    private let server: any Channel
    private let clients: [any Channel]

    /// - Parameter bridge: whether each message is declared as a request to the monitor.
    init(servers: any EventLoopGroup, clients group: any EventLoopGroup, connections: Int, bridge: Bool = false) throws {
        let count = count
        let server = try ServerBootstrap(group: servers).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                if bridge { try channel.pipeline.syncOperations.addHandler(StallContextHandler<ByteBuffer> { _ in "echo" }) }
                try channel.pipeline.syncOperations.addHandler(Server())
            }
        }.bind(host: "127.0.0.1", port: 0).wait()
        self.server = server
        clients = try (0..<connections).map { _ in
            try ClientBootstrap(group: group).channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Client(count)) }
            }.connect(to: server.localAddress!).wait()
        }
    }

    /// The echoes per second during the next `milliseconds`.
    func rate(milliseconds: Int) -> Double {
        let (start, before) = (MonotonicTime.now, count.echoes.load(ordering: .relaxed))
        pause(milliseconds: milliseconds)
        let (end, after) = (MonotonicTime.now, count.echoes.load(ordering: .relaxed))
        return Double(after - before) / Double(end.nanoseconds - start.nanoseconds) * 1e9
    }

    func end() throws {
        for client in clients { try client.close().wait() }
        try server.close().wait()
    }
}
