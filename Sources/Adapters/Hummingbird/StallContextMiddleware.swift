#if Hummingbird
    private import HTTPTypes
    public import Hummingbird
    public import LagMonitor

    #if Tracing
        private import LagMonitorTracing
    #endif

    /// Says which request a task works at: a stall's record has its method and route as `request`, `GET /orders/{id}`, and its trace.
    ///
    /// `router.add(middleware: StallContextMiddleware())`.
    ///
    /// The route and not the path: all requests of one kind have one name, and no data of a user is in it. With `RouterBuilder` the route is known within
    /// `Route` alone: a middleware around it has `-` for it. The trace is that of the task's service context with the trait `Tracing`, if this is added after
    /// Hummingbird's `TracingMiddleware`; else that of the header `traceparent`. Not in the context: what WebSockets do after their upgrade.
    ///
    /// Any task. What `withStallContext` costs, and nothing but a load while nobody asks for contexts.
    @available(macOS 14, iOS 17, tvOS 17, *)
    public struct StallContextMiddleware<Context: RequestContext>: RouterMiddleware {
        private let bodies: Bool
        private let attributes: @Sendable (Request, Context) -> StallAttributes

        /// - Parameters:
        ///   - bodies: whether a body of unknown length, which is made while it is sent, is in a context of its own of the same name. It is one of the 4096
        ///     that can be open as long as it is sent: false for a server of many endless ones.
        ///   - attributes: what else is known of a request; not called while nobody asks for contexts.
        public init(
            bodies: Bool = true,
            attributes: @escaping @Sendable (Request, Context) -> StallAttributes = { _, _ in [:] }
        ) {
            self.bodies = bodies
            self.attributes = attributes
        }

        public func handle(
            _ request: Request,
            context: Context,
            next: (Request, Context) async throws -> Response
        ) async throws -> Response {
            guard areStallContextsWanted() else { return try await next(request, context) }
            // Now: when the body is made, the task is in no service context any more.
            let (attributes, trace) = (attributes(request, context), Self.trace(of: request))
            var response = try await withStallContext(name: Self.name(request, context), attributes, trace: trace) {
                try await next(request, context)
            }
            // One that is known is sent in one write, if it is left alone.
            guard bodies, response.body.contentLength == nil else { return response }
            response.body = ResponseBody { [body = response.body, name = Self.name(request, context)] writer in
                // What is inout cannot be captured.
                let copy = writer
                try await withStallContext(name: name, attributes, trace: trace) { try await body.write(copy) }
            }
            return response
        }

        private static func name(_ request: Request, _ context: Context) -> String {
            "\(request.method) \(context.endpointPath ?? "-")"
        }

        private static func trace(of request: Request) -> StallTrace? {
            #if Tracing
                if let trace = StallTrace.current { return trace }
            #endif
            return request.headers[traceParent].flatMap { StallTrace(traceParent: $0) }
        }
    }

    /// W3C's header.
    private let traceParent = HTTPField.Name("traceparent")!
#else
    public import LagMonitor

    @available(*, unavailable, message: "turn on the trait 'Hummingbird' of the package LagMonitor: traits: [\"Hummingbird\"]")
    public struct StallContextMiddleware {
        public init(bodies: Bool = true, attributes: (Any, Any) -> StallAttributes = { _, _ in [:] }) {}
    }
#endif
