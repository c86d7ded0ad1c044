#if GRPC
    public import GRPCCore
    public import LagMonitor

    #if Tracing
        private import LagMonitorTracing
    #endif

    /// Says which call a task works at: a stall's record has its method as `request`, and its trace.
    ///
    /// `GRPCServer(transport: transport, services: services, interceptors: [StallContextInterceptor()])`.
    ///
    /// The trace is that of the task's service context with the trait `Tracing`, if a tracing interceptor stands before this one; else that of the
    /// metadata `traceparent`. What makes the messages of a streaming response runs after the interceptors, and belongs to the call as well.
    ///
    /// Any task. What `withStallContext` costs, and nothing but a load while nobody asks for contexts.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, *)
    public struct StallContextInterceptor: ServerInterceptor {
        private let attributes: @Sendable (ServerContext, Metadata) -> StallAttributes

        /// - Parameter attributes: what else is known of a call; not called while nobody asks for contexts.
        public init(attributes: @escaping @Sendable (ServerContext, Metadata) -> StallAttributes = { _, _ in [:] }) {
            self.attributes = attributes
        }

        public func intercept<Input: Sendable, Output: Sendable>(
            request: StreamingServerRequest<Input>,
            context: ServerContext,
            next: (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
        ) async throws -> StreamingServerResponse<Output> {
            let (attributes, metadata) = (attributes, request.metadata)
            var response = try await withStallContext(
                name: context.descriptor.fullyQualifiedMethod,
                attributes(context, metadata),
                trace: Self.trace(of: metadata)
            ) {
                try await next(request, context)
            }
            guard case .success(var contents) = response.accepted else { return response }
            contents.producer = { [producer = contents.producer] writer in
                try await withStallContext(
                    name: context.descriptor.fullyQualifiedMethod,
                    attributes(context, metadata),
                    trace: Self.trace(of: metadata)
                ) {
                    try await producer(writer)
                }
            }
            response.accepted = .success(contents)
            return response
        }

        private static func trace(of metadata: Metadata) -> StallTrace? {
            #if Tracing
                if let trace = StallTrace.current { return trace }
            #endif
            return metadata[stringValues: "traceparent"].first { _ in true }.flatMap { StallTrace(traceParent: $0) }
        }
    }
#else
    @available(*, unavailable, message: "turn on the trait 'GRPC' of the package LagMonitor: traits: [\"GRPC\"]")
    public struct StallContextInterceptor {
        public init() {}
    }
#endif
