import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import LagMonitor
import LagMonitorGRPC
import LagMonitorLifecycle
import Logging
import ServiceLifecycle
import UnixSignals

/// A gRPC server on the loopback interface, watched by the monitor. It prints its port on standard error, writes a line for each
/// stall to standard output, and exits on SIGTERM. `ShopServer call PORT METHOD` is a client.
@main struct Server {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 1 else { return try await call(Array(arguments.dropFirst())) }

        // The whole setup, with the service in the list below. The interceptor needs the contexts.
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded
        let monitor = StallMonitor(
            configuration: configuration,
            sinks: [try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")]
        )

        let group = ServiceGroup(
            services: [StallMonitorService(monitor), GRPCService()],
            gracefulShutdownSignals: [.sigterm],
            logger: Logger(label: "server")
        )
        try await group.run()
    }

    private static func call(_ arguments: [String]) async throws {
        guard arguments.count == 3, arguments[0] == "call", let port = Int(arguments[1]) else {
            fatalError("usage: ShopServer [call PORT METHOD]")
        }
        let transport = try HTTP2ClientTransport.Posix(
            target: .ipv4(address: "127.0.0.1", port: port),
            transportSecurity: .plaintext
        )
        try await withGRPCClient(transport: transport) { client in
            let answer = try await client.unary(
                request: ClientRequest(
                    message: [],
                    metadata: ["traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]
                ),
                descriptor: MethodDescriptor(fullyQualifiedService: "shop.Shop", method: arguments[2]),
                serializer: Bytes(),
                deserializer: Bytes(),
                options: .defaults
            ) { try $0.message }
            print(String(decoding: answer, as: UTF8.self))
        }
    }
}

/// Runs the server as a service of the group.
struct GRPCService: Service {
    func run() async throws {
        let server = GRPCServer(
            transport: .http2NIOPosix(address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext),
            services: [Shop()],
            interceptors: [StallContextInterceptor()]
        )
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup { tasks in
                tasks.addTask { try await server.serve() }
                if let address = try await server.listeningAddress?.ipv4 { say("port \(address.port)") }
                try await tasks.waitForAll()
            }
        } onGracefulShutdown: {
            server.beginGracefulShutdown()
        }
    }

    /// Writes to standard error. Standard output is for records only.
    private func say(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
}
