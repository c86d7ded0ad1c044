internal import Foundation
internal import GRPCCore
internal import GRPCNIOTransportHTTP2Posix
internal import LagMonitor
internal import LagMonitorConcurrency
internal import LagMonitorGRPC
internal import Synchronization

/// A gRPC server with the bridge. Half of the blocking requests block in their method, half while they create the messages of
/// the response.
enum GRPCService {
    static func run(_ requests: Service.Requests, _ monitor: StallMonitor) throws {
        try monitor.watchConcurrencyPool([.high, .medium])
        let calls = Calls()
        let all = Task.detached {
            let server = GRPCServer(
                transport: .http2NIOPosix(address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext),
                services: [Orders(requests: requests)],
                interceptors: [
                    StallContextInterceptor { _, metadata in ["id": metadata[stringValues: "id"].first { _ in true } ?? ""] }
                ]
            )
            try await withThrowingTaskGroup { tasks in
                tasks.addTask { try await server.serve() }
                let port = try await server.listeningAddress?.ipv4?.port ?? 0
                let transport = try HTTP2ClientTransport.Posix(
                    target: .ipv4(address: "127.0.0.1", port: port),
                    transportSecurity: .plaintext
                )
                try await withGRPCClient(transport: transport) { client in
                    calls.set { number in _ = try? await Self.call(client, number) }
                    while !requests.isDone { try await Task.sleep(for: .milliseconds(20)) }
                    // Time for the last responses.
                    try await Task.sleep(for: .seconds(2))
                }
                server.beginGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
        defer { all.cancel() }
        let call = try calls.wait()
        TaskService.runClients(requests) { await call($0) }
    }

    private static func call(_ client: GRPCClient<HTTP2ClientTransport.Posix>, _ number: Int) async throws -> [UInt8] {
        try await client.unary(
            request: ClientRequest(
                message: Array("\(number)".utf8),
                metadata: ["id": "\(number)", "traceparent": "\(TraceParent.header(number))"]
            ),
            descriptor: Orders.get,
            serializer: Bytes(),
            deserializer: Bytes(),
            options: .defaults
        ) { try $0.message }
    }

    /// The clients' stub, after the server has started.
    private final class Calls: Sendable {
        private let call = Mutex<(@Sendable (Int) async -> Void)?>(nil)

        func set(_ closure: @escaping @Sendable (Int) async -> Void) { call.withLock { $0 = closure } }

        struct NoServer: Error {}

        func wait() throws -> @Sendable (Int) async -> Void {
            for _ in 0..<1000 {
                if let closure = call.withLock({ $0 }) { return closure }
                usleep(10_000)
            }
            throw NoServer()
        }
    }
}

private struct Orders: RegistrableRPCService {
    static let get = MethodDescriptor(fullyQualifiedService: "shop.Orders", method: "Get")
    let requests: Service.Requests

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        router.registerHandler(forMethod: Self.get, deserializer: Bytes(), serializer: Bytes()) { request, _ in
            var message: [UInt8] = []
            for try await part in request.messages { message = part }
            let number = Int(String(decoding: message, as: UTF8.self)) ?? 0
            try? await Task.sleep(for: .microseconds(500 + number % 7 * 300))
            let isInAnswer = number / 200 % 2 == 1
            if !isInAnswer { requests.work(number) }
            return StreamingServerResponse { [message] writer in
                try? await Task.sleep(for: .microseconds(200))
                if isInAnswer { requests.work(number) }
                try await writer.write(message)
                return [:]
            }
        }
    }
}

/// Passes messages on as bytes, unchanged.
private struct Bytes: MessageSerializer, MessageDeserializer {
    func serialize<Target: GRPCContiguousBytes>(_ message: [UInt8]) -> Target { Target(message) }

    func deserialize<Source: GRPCContiguousBytes>(_ bytes: Source) -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }
}
