import HTTPTypes
import Hummingbird
import LagMonitor

/// Says which request a task works at: a stall's record has its method and route as `request`, and the trace of its `traceparent` header.
///
/// The route and not the path: all requests of one kind have one name, and no data of a user is in it.
struct StallContextMiddleware<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        try await withStallContext(
            name: "\(request.method) \(context.endpointPath ?? "-")",
            trace: request.headers[traceParent].flatMap { StallTrace(traceParent: $0) }
        ) {
            try await next(request, context)
        }
    }
}

/// W3C's header.
private let traceParent = HTTPField.Name("traceparent")!
