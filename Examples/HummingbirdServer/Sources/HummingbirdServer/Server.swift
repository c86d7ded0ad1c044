import Dispatch
import Foundation
import Hummingbird
import LagMonitor
import LagMonitorLifecycle
import NIOCore
import NIOPosix
import UnixSignals

/// A Hummingbird server on the loopback interface. The monitor watches its event loops, tasks and main actor. The server prints
/// its port on standard error, writes a line for each stall to standard output, and exits on SIGTERM.
///
/// With `--handlers-on-loops`, SwiftNIO's loops run all tasks, so each handler runs on a loop from beginning to end. Without it,
/// handlers run on the concurrency pool, whose threads are watched individually, and a loop runs only what is submitted to it.
@main struct Server {
    static func main() async throws {
        if CommandLine.arguments.contains("--handlers-on-loops") {
            guard NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor() else {
                say("with this compiler, tasks cannot run on event loops")
                exit(1)
            }
        }
        let group = MultiThreadedEventLoopGroup.singleton

        // The whole setup, with the service in the list below.
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded  // what StallContextMiddleware reports
        let monitor = StallMonitor(
            configuration: configuration,
            sinks: [try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")]
        )

        let server = Application(
            router: Routes(reports: ReportStore(group.next()), orders: try OrderDatabase(), totals: Totals()).router(),
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            services: [StallMonitorService(monitor)],
            onServerRunning: { say("port \($0.localAddress?.port ?? 0)") },
            eventLoopGroupProvider: .shared(group)
        )
        try await server.runService(gracefulShutdownSignals: [.sigterm])
    }

    /// Writes to standard error. Standard output is for records only.
    private static func say(_ text: String) { "\(text)\n".withCString { _ = write(STDERR_FILENO, $0, strlen($0)) } }
}
