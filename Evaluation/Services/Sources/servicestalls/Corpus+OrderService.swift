internal import Foundation

// Requests of a service on Hummingbird.

extension Corpus {
    static let orderService: [Scenario] = [
        .request(
            "hb-handler",
            "a handler",
            ["syscall"],
            ["Stall.block"],
            callers: ["OrderController.show"],
            "GET /orders/{id}",
            "GET",
            "/orders/7"
        ),
        .request(
            "hb-actor",
            "an actor for which a handler waits",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Warehouse.reserve"],
            "POST /orders/{id}",
            suspended: ["OrderController.place"],
            "POST",
            "/orders/7"
        ),
        .request(
            "hb-middleware",
            "a middleware",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Auditor.audit"],
            "GET /audited/{number}",
            "GET",
            "/audited/1"
        ),
        .request(
            "hb-grdb",
            "a GRDB query",
            ["cpu"],
            ["OrderController.countStock"],
            callers: ["OrderController.stock"],
            "GET /stock/{id}",
            "GET",
            "/stock/1"
        ),
        .request(
            "hb-response",
            "the encoding of a response",
            ["cpu"],
            ["AccountList.response", "AccountList.Account.encode"],
            "GET /accounts",
            "GET",
            "/accounts"
        ),
        .request(
            "hb-upload",
            "a handler that has read its body",
            ["cpu"],
            ["Stall.compute"],
            callers: ["OrderController.digest"],
            "POST /upload",
            "POST",
            "/upload"
        ),
        .request(
            "hb-stream",
            "a response body that is written in parts",
            ["syscall"],
            ["Stall.block"],
            callers: ["OrderController.stream"],
            "GET /stream",
            "GET",
            "/stream"
        ),
        .request(
            "hb-twenty",
            "a handler, during the requests of twenty clients",
            ["syscall"],
            ["Stall.block"],
            callers: ["OrderController.show"],
            "GET /orders/{id}",
            others: 20,
            "GET",
            "/orders/9"
        ),
    ]
}

extension Scenario {
    /// Sends one request to the service.
    fileprivate static func request(
        _ name: String,
        _ summary: String,
        _ causes: [String],
        _ culprits: [String],
        callers: [String] = [],
        _ request: String,
        suspended: [String]? = nil,
        others: Int = 0,
        _ method: String,
        _ path: String
    ) -> Scenario {
        .service(name, summary, causes, culprits, callers: callers, request: request, suspended: suspended) {
            for client in 0..<others {
                Thread.detachNewThread {
                    for _ in 0..<8 {
                        OrderService.send("GET", "/quick/\(client)")
                        usleep(40_000)
                    }
                }
            }
            Thread.detachNewThread {
                usleep(100_000)
                OrderService.send(method, path)
            }
        }
    }
}
