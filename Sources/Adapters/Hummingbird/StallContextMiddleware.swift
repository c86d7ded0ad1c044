#if Hummingbird
    private import HTTPTypes
    public import Hummingbird
    public import LagMonitor
    private import LagMonitorTracing

    /// Publishes which request a task works on: a stall's record has its method and route as `request`, `GET /orders/{id}`, and
    /// its trace.
    ///
    /// `router.add(middleware: StallContextMiddleware())`.
    ///
    /// The route and not the path: all requests of one kind have one name, without any user's data. With `RouterBuilder` the
    /// route is only known within `Route`: a middleware around it has `-` instead. With the trait `Tracing` the trace is that of
    /// the task's service context, if this is added after Hummingbird's `TracingMiddleware`; otherwise that of the header
    /// `traceparent`. Not in the context: what WebSockets do after their upgrade.
    ///
    /// Any task. Costs as much as `withStallContext`, and only a load while no monitor wants contexts.
    @available(macOS 14, iOS 17, tvOS 17, *)
    public struct StallContextMiddleware<Context: RequestContext>: RouterMiddleware {
        private let bodies: Bool
        private let attributes: @Sendable (Request, Context) -> StallAttributes

        /// - Parameters:
        ///   - bodies: whether a body of unknown length, which is created while it is sent, gets a separate context of the same
        ///     name. It is one of the 4096 that can be open, as long as it is sent: use false for a server of many endless
        ///     bodies.
        ///   - attributes: further attributes of a request; not called while no monitor wants contexts.
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
            // Now: when the body is created, the task is in no service context any more.
            let (attributes, trace) = (attributes(request, context), Self.trace(of: request))
            var response = try await withStallContext(name: Self.name(request, context), attributes, trace: trace) {
                try await next(request, context)
            }
            // A body of known length is sent in one write, if it is left alone.
            guard bodies, response.body.contentLength == nil else { return response }
            response.body = ResponseBody { [body = response.body, name = Self.name(request, context)] writer in
                // An inout parameter cannot be captured.
                let copy = writer
                try await withStallContext(name: name, attributes, trace: trace) { try await body.write(copy) }
            }
            return response
        }

        private static func name(_ request: Request, _ context: Context) -> String {
            "\(request.method) \(context.endpointPath ?? "-")"
        }

        private static func trace(of request: Request) -> StallTrace? {
            StallTrace.ofTask ?? request.headers[traceParent].flatMap { StallTrace(traceParent: $0) }
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
