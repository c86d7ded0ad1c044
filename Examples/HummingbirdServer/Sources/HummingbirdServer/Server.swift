import Dispatch
import Foundation
import Hummingbird
import LagMonitor
import LagMonitorLifecycle
import NIOCore
import NIOPosix
import UnixSignals

/// A Hummingbird server on the loopback interface whose event loops, tasks and main actor are watched. Says its port on standard error, writes a
/// line for each stall to standard output, and ends on SIGTERM.
///
/// With `--handlers-on-loops` SwiftNIO's loops run all tasks, so that each handler is on a loop from beginning to end; without, handlers
/// run on the concurrency pool, whose threads are watched one by one, and on a loop is only what is given to one.
@main struct Server {
    static func main() async throws {
        if CommandLine.arguments.contains("--handlers-on-loops") {
            guard NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor() else {
                say("this compiler's tasks cannot run on event loops")
                exit(1)
            }
        }
        let group = MultiThreadedEventLoopGroup.singleton

        // All that it takes, with the service in the list below.
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded  // what StallContextMiddleware says
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

    /// To standard error; records have standard output to themselves.
    private static func say(_ text: String) { "\(text)\n".withCString { _ = write(STDERR_FILENO, $0, strlen($0)) } }
}
