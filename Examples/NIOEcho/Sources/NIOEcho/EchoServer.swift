import Foundation
import LagMonitor
import LagMonitorNIO
import NIOCore
import NIOPosix

/// An echo server on the loopback interface, whose event loops are watched. It prints its port on standard error, writes a line
/// for each stall to standard output, and exits when its standard input is closed.
@main struct EchoServer {
    static func main() throws {
        let group = MultiThreadedEventLoopGroup.singleton

        // The whole setup.
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded  // what StallContextHandler reports
        let monitor = StallMonitor(
            configuration: configuration,
            sinks: [try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")]
        )
        try monitor.start()
        try monitor.watch(group, named: "echo")

        let server = try ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers(
                    StallContextHandler<ByteBuffer> { $0.readableBytesView.starts(with: "block".utf8) ? "echo block" : "echo" },
                    EchoHandler()
                )
            }
        }.bind(host: "127.0.0.1", port: 0).wait()
        "port \(server.localAddress?.port ?? 0)\n".withCString { _ = write(STDERR_FILENO, $0, strlen($0)) }
        while getchar() != EOF {}
        try server.close().wait()
        monitor.stop()
    }
}
