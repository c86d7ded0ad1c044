// What the stalled thread was working on.
extension FieldTable {
    static let running: [FieldDefinition] = [
        .field(.traceID, "trace_id", .text(\.traceID, as: .traceID), cap: .fixed, keep: .essential, in: .metadata)
            .means("W3C's trace id of what was running."),
        .field(.spanID, "span_id", .text(\.spanID, as: .stackHash), cap: .fixed, keep: .essential, in: .metadata)
            .means("W3C's span id of what was running."),
        .field(.request, "request", .request(\.request), cap: .name, keep: .essential, in: .metadata).means(
            """
            What the program said that the stalled thread was at (withStallContext, OpenTelemetry's thread context); absent \
            where that is not certain.
            """
        ),
        .field(.requestsOpen, "requests_open", .requests(\.requestsOpen), cap: .name, in: []).means(
            """
            Others that the thread was at for a part of the stall (running), and that were open on its loop or pool when the \
            stall was recognised: at most eight.
            """
        ),
        .field(.task, "task", .task(\.task), cap: .name, keep: .essential, in: .metadata)
            .means("The task that ran on the stalled thread: Swift's, or asyncio's of CPython."),
        .field(.state, "state", .attributes(\.state), cap: .name, in: .metadata).means(
            """
            What the program added when the stall was recognised (onStallBegin), or published of what its thread was at without \
            a name for it.
            """
        ),
    ]
}
