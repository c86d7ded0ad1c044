internal import Foundation
internal import Hummingbird
internal import LagMonitor
internal import LagMonitorConcurrency
internal import LagMonitorHummingbird
internal import Logging
internal import NIOCore
internal import Synchronization
internal import Tracing

/// A Hummingbird server whose handlers run on the concurrency pool, with the bridge and a tracer. Half of the blocking requests
/// block in their handler, half while they create the body.
enum HummingbirdService {
    private static let answer = "fine"

    static func run(_ requests: Service.Requests, _ monitor: StallMonitor) throws {
        _ = isTraced
        try monitor.watchConcurrencyPool([.high, .medium])
        let port = Port()
        let server = Task.detached {
            try await Application(
                router: router(requests),
                configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { port.set($0.localAddress?.port ?? 0) },
                logger: Logger(label: "hummingbird") { _ in SwiftLogNoOpLogHandler() }
            ).run()
        }
        defer { server.cancel() }
        let number = try port.wait()
        LoopbackClient.runAll(requests) {
            guard let client = LoopbackClient(port: number) else { return }
            while !requests.isDone {
                let number = requests.take()
                let head =
                    "GET /orders/\(number) HTTP/1.1\r\nHost: localhost\r\ntraceparent: \(TraceParent.header(number))\r\n\r\n"
                guard client.send(Array(head.utf8)), client.receiveAnswer() else { return }
                usleep(500)
            }
        }
    }

    private static func router(_ requests: Service.Requests) -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: TracingMiddleware())
        router.add(
            middleware: StallContextMiddleware { _, context in ["id": context.parameters.get("id") ?? ""] }
        )
        router.get("orders/:id") { _, context in
            let number = try context.parameters.require("id", as: Int.self)
            try? await Task.sleep(for: .microseconds(500 + number % 7 * 300))
            let isInBody = number / 200 % 2 == 1
            if !isInBody { requests.work(number) }
            return Response(
                status: .ok,
                body: ResponseBody { writer in
                    try? await Task.sleep(for: .microseconds(200))
                    if isInBody { requests.work(number) }
                    try await writer.write(ByteBuffer(string: answer))
                    try await writer.finish(nil)
                }
            )
        }
        return router
    }

    private static let isTraced: Bool = {
        InstrumentationSystem.bootstrap(Propagator())
        return true
    }()

    private final class Port: Sendable {
        private let number = Atomic<Int>(0)

        struct NoServer: Error {}

        func set(_ port: Int) { number.store(port, ordering: .releasing) }

        func wait() throws -> Int {
            for _ in 0..<1000 {
                let port = number.load(ordering: .acquiring)
                if port != 0 { return port }
                usleep(10_000)
            }
            throw NoServer()
        }
    }
}

extension LoopbackClient {
    /// A response with a chunked body, which ends with an empty chunk.
    fileprivate func receiveAnswer() -> Bool {
        var answer: [UInt8] = []
        while !answer.suffix(5).elementsEqual("0\r\n\r\n".utf8) {
            guard let part = receive(1) else { return false }
            answer += part
        }
        return true
    }
}

/// A minimal tracer: it reads `traceparent` from the caller, and passes on its own span.
private struct Propagator: Instrument {
    private enum HeaderKey: ServiceContextKey { typealias Value = String }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        context[HeaderKey.self] = extractor.extract(key: "traceparent", from: carrier)?
            .replacing(TraceParent.clientSpan, with: TraceParent.serverSpan)
    }

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        if let header = context[HeaderKey.self] { injector.inject(header, forKey: "traceparent", into: &carrier) }
    }
}
