import GRPCCore
import LagMonitor

/// Says which call a task works at: a stall's record has its method as `request`, and the trace of its `traceparent` metadata.
///
/// What makes the messages of a streaming response runs after the interceptors, and is not in it: such a method calls `withStallContext` there itself.
struct StallContextInterceptor: ServerInterceptor {
    func intercept<Input: Sendable, Output: Sendable>(
        request: StreamingServerRequest<Input>,
        context: ServerContext,
        next: (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
    ) async throws -> StreamingServerResponse<Output> {
        try await withStallContext(
            name: context.descriptor.fullyQualifiedMethod,
            trace: request.metadata[stringValues: "traceparent"].first { _ in true }.flatMap { StallTrace(traceParent: $0) }
        ) {
            try await next(request, context)
        }
    }
}
