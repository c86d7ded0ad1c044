#if Hummingbird
    private import HTTPTypes
    public import Hummingbird
    public import LagMonitor

    #if Tracing
        private import LagMonitorTracing
    #endif

    /// Says which request a task works at: a stall's record has its method and route as `request`, and its trace.
    ///
    /// `router.add(middleware: StallContextMiddleware())`.
    ///
    /// The route and not the path: all requests of one kind have one name, and no data of a user is in it. The trace is that of the task's service
    /// context with the trait `Tracing`, if this is added after Hummingbird's `TracingMiddleware`; else that of the header `traceparent`.
    /// A body that is made while it is sent belongs to the request as well.
    ///
    /// Any task. What `withStallContext` costs, and nothing but a load while nobody asks for contexts.
    @available(macOS 14, iOS 17, tvOS 17, *)
    public struct StallContextMiddleware<Context: RequestContext>: RouterMiddleware {
        private let attributes: @Sendable (Request, Context) -> StallAttributes

        /// - Parameter attributes: what else is known of a request; not called while nobody asks for contexts.
        public init(attributes: @escaping @Sendable (Request, Context) -> StallAttributes = { _, _ in [:] }) {
            self.attributes = attributes
        }

        public func handle(
            _ request: Request,
            context: Context,
            next: (Request, Context) async throws -> Response
        ) async throws -> Response {
            var response = try await withStallContext(
                name: Self.name(request, context),
                attributes(request, context),
                trace: Self.trace(of: request)
            ) {
                try await next(request, context)
            }
            // One of known bytes is only handed on.
            guard response.body.contentLength == nil else { return response }
            response.body = ResponseBody { [body = response.body] writer in
                let inner = writer
                try await withStallContext(
                    name: Self.name(request, context),
                    attributes(request, context),
                    trace: Self.trace(of: request)
                ) {
                    try await body.write(inner)
                }
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
    @available(*, unavailable, message: "turn on the trait 'Hummingbird' of the package LagMonitor: traits: [\"Hummingbird\"]")
    public struct StallContextMiddleware {
        public init() {}
    }
#endif
