#if GRPC
    public import GRPCCore
    public import LagMonitor
    private import LagMonitorTracing

    /// Publishes which call a task works on: a stall's record has its method as `request`, `shop.Orders/Get`, and its trace.
    ///
    /// `GRPCServer(transport: transport, services: services, interceptors: [StallContextInterceptor()])`.
    ///
    /// With the trait `Tracing` the trace is that of the task's service context, if a tracing interceptor comes before this one;
    /// otherwise that of the metadata `traceparent`. If a name is too long for a context, the service's package is left out.
    ///
    /// Any task. Costs as much as `withStallContext`, and only a load while no monitor wants contexts.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, *)
    public struct StallContextInterceptor: ServerInterceptor {
        private static let nameBytes = 64
        private let answers: Bool
        private let attributes: @Sendable (ServerContext, Metadata) -> StallAttributes

        /// - Parameters:
        ///   - answers: whether the messages of a response, which are created after the method has returned, get a separate
        ///     context of the same name. It is one of the 4096 that can be open, as long as they are sent: use false for a server
        ///     of many endless streams.
        ///   - attributes: further attributes of a call; not called while no monitor wants contexts.
        public init(
            answers: Bool = true,
            attributes: @escaping @Sendable (ServerContext, Metadata) -> StallAttributes = { _, _ in [:] }
        ) {
            self.answers = answers
            self.attributes = attributes
        }

        public func intercept<Input: Sendable, Output: Sendable>(
            request: StreamingServerRequest<Input>,
            context: ServerContext,
            next: (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
        ) async throws -> StreamingServerResponse<Output> {
            guard areStallContextsWanted() else { return try await next(request, context) }
            let name = Self.name(context.descriptor)
            // Now: when the messages are created, the task is in no service context any more.
            let (attributes, trace) = (attributes(context, request.metadata), Self.trace(of: request.metadata))
            var response = try await withStallContext(name: name, attributes, trace: trace) { try await next(request, context) }
            guard answers, case .success(var contents) = response.accepted else { return response }
            contents.producer = { [producer = contents.producer] writer in
                try await withStallContext(name: name, attributes, trace: trace) { try await producer(writer) }
            }
            response.accepted = .success(contents)
            return response
        }

        private static func name(_ method: MethodDescriptor) -> String {
            let name = method.fullyQualifiedMethod
            guard name.utf8.count > nameBytes else { return name }
            return "\(method.service.fullyQualifiedService.split(separator: ".").last ?? "-")/\(method.method)"
        }

        private static func trace(of metadata: Metadata) -> StallTrace? {
            StallTrace.ofTask ?? metadata[stringValues: "traceparent"].first { _ in true }.flatMap { StallTrace(traceParent: $0) }
        }
    }
#else
    public import LagMonitor

    @available(*, unavailable, message: "turn on the trait 'GRPC' of the package LagMonitor: traits: [\"GRPC\"]")
    public struct StallContextInterceptor {
        public init(answers: Bool = true, attributes: (Any, Any) -> StallAttributes = { _, _ in [:] }) {}
    }
#endif
