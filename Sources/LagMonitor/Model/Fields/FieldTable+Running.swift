// What the stalled thread was working on.
extension FieldTable {
    static let running: [FieldDefinition] = [
        .field(.traceID, "trace_id", .text(\.traceID, as: .traceID), cap: .fixed, keep: .essential, in: .metadata)
            .means("W3C's trace id of the context that was running."),
        .field(.spanID, "span_id", .text(\.spanID, as: .stackHash), cap: .fixed, keep: .essential, in: .metadata)
            .means("W3C's span id of the context that was running."),
        .field(.request, "request", .request(\.request), cap: .name, keep: .essential, in: .metadata).means(
            """
            The program's context of the stalled thread (withStallContext, OpenTelemetry's thread context); absent if it is not \
            certain.
            """
        ),
        .field(.requestsOpen, "requests_open", .requests(\.requestsOpen), cap: .name, in: []).means(
            """
            Other contexts, at most eight: those that the thread ran for a part of the stall (running), and those that were open \
            on its loop or pool when the stall was recognised.
            """
        ),
        .field(.task, "task", .task(\.task), cap: .name, keep: .essential, in: .metadata)
            .means("The task that ran on the stalled thread: Swift's, or asyncio's of CPython."),
        .field(.state, "state", .attributes(\.state), cap: .name, in: .metadata).means(
            """
            What the program added when the stall was recognised (onStallBegin), or published about its thread's work without a \
            name.
            """
        ),
    ]
}
