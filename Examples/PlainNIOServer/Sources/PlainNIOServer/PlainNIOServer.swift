import NIOCore
import NIOHTTP1
import NIOPosix

/// An HTTP server with one event loop, on the loopback interface: `PlainNIOServer PORT`.
@main struct PlainNIOServer {
    static func main() throws {
        guard CommandLine.arguments.count == 2, let port = UInt16(CommandLine.arguments[1]) else {
            fatalError("usage: PlainNIOServer PORT (0 to 65535)")
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(RequestHandler())
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .bind(host: "127.0.0.1", port: Int(port)).wait()
        try server.closeFuture.wait()
    }
}
