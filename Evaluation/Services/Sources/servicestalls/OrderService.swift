internal import Foundation
internal import GRDB
internal import Hummingbird
internal import LagMonitorHummingbird
internal import Logging
internal import NIOCore
internal import Synchronization

/// A service on Hummingbird: middleware, controllers, an actor, a database.
enum OrderService {
    private static let port = Atomic<Int>(0)

    static func application() throws -> some ApplicationProtocol {
        let router = Router(context: OrderContext.self)
        router.add(middleware: StallContextMiddleware())
        router.add(middleware: AuditMiddleware())
        let orders = OrderController(database: try DatabaseQueue())
        router.get("/quick/{number}") { _, _ in "quick" }
        router.get("/audited/{number}") { _, _ in "audited" }
        router.group("/orders").post("/{id}", use: orders.place).get("/{id}", use: orders.show)
        router.get("/stock/{id}", use: orders.stock)
        router.get("/accounts") { _, _ in AccountList() }
        router.post("/upload", use: orders.upload)
        router.get("/stream", use: orders.stream)
        return Application(
            router: router,
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.store($0.localAddress?.port ?? 0, ordering: .sequentiallyConsistent) },
            logger: Logger(label: "orders") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    static func waitUntilOpen() {
        while port.load(ordering: .sequentiallyConsistent) == 0 { usleep(10_000) }
    }

    /// Sends a request, and waits for the first part of the response, on the calling thread.
    static func send(_ method: String, _ path: String) {
        let body = method == "POST" ? "Content-Length: 5\r\n\r\nhello" : "\r\n"
        let head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        Loopback.ask(port.load(ordering: .sequentiallyConsistent), head + body)
    }
}

struct OrderContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    init(source: Source) { coreContext = .init(source: source) }
}

struct AuditMiddleware<Context: RequestContext>: RouterMiddleware {
    func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws -> Response
    {
        if request.uri.path.hasPrefix("/audited") { Auditor.audit(430) }
        return try await next(request, context)
    }
}

enum Auditor {
    @inline(never) static func audit(_ milliseconds: Int) { keep(Stall.compute(for: milliseconds)) }
}

struct AccountList: ResponseGenerator {
    private struct Account: Codable {
        let number: Int
        let name: String
    }

    @inline(never) func response(from request: Request, context: some RequestContext) throws -> Response {
        StalledTime.begin()
        defer { StalledTime.end() }
        let deadline = Deadline(440)
        let accounts = (0..<200).map { Account(number: $0, name: "name \($0)") }
        var data = Data()
        while !deadline.isOver { data = try JSONEncoder().encode(accounts) }
        return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(bytes: data)))
    }
}

private actor Warehouse {
    @inline(never) func reserve(_ milliseconds: Int) -> Int { Stall.compute(for: milliseconds) &+ 1 }

    @inline(never) func allocate(_ milliseconds: Int) async -> Int {
        let place = reserve(milliseconds)
        return place &+ 1
    }
}

struct OrderController: Sendable {
    private let warehouse = Warehouse()
    private let database: DatabaseQueue

    init(database: DatabaseQueue) { self.database = database }

    @inline(never) func place(_ request: Request, _ context: OrderContext) async throws -> String {
        let place = await warehouse.allocate(510)
        return "\(place)"
    }

    @inline(never) func show(_ request: Request, _ context: OrderContext) async throws -> String {
        Stall.block(for: 480)
        return "shown"
    }

    @inline(never) func stock(_ request: Request, _ context: OrderContext) async throws -> String {
        "\(try countStock(for: 450))"
    }

    @inline(never) private func countStock(for milliseconds: Int) throws -> Int {
        StalledTime.begin()
        defer { StalledTime.end() }
        let deadline = Deadline(milliseconds)
        let query =
            "WITH RECURSIVE stock(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM stock WHERE x < 20000) SELECT sum(x) FROM stock"
        return try database.read { database in
            var sum = 0
            while !deadline.isOver { sum &+= try Int.fetchOne(database, sql: query) ?? 0 }
            return sum
        }
    }

    @inline(never) func upload(_ request: Request, _ context: OrderContext) async throws -> String {
        let body = try await request.body.collect(upTo: 1 << 20)
        return "\(Self.digest(body, 420))"
    }

    @inline(never) private static func digest(_ body: ByteBuffer, _ milliseconds: Int) -> Int {
        Stall.compute(for: milliseconds) &+ body.readableBytes
    }

    func stream(_ request: Request, _ context: OrderContext) async throws -> Response {
        Response(
            status: .ok,
            body: .init { writer in
                for part in 0..<3 {
                    if part == 1 { Stall.block(for: 410) }
                    try await writer.write(ByteBuffer(string: "part \(part)\n"))
                }
                try await writer.finish(nil)
            }
        )
    }
}
