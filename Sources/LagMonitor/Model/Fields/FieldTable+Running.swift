// What the stalled thread was working at.
extension FieldTable {
    static let running: [FieldDefinition] = [
        FieldDefinition(
            .traceID,
            "trace_id",
            .traceID,
            cap: .fixed,
            keep: .essential,
            in: .metadata,
            value: .text(\.traceID),
            "W3C's trace id of what was running."
        ),
        FieldDefinition(
            .spanID,
            "span_id",
            .stackHash,
            cap: .fixed,
            keep: .essential,
            in: .metadata,
            value: .text(\.spanID),
            "W3C's span id of what was running."
        ),
        FieldDefinition(
            .request,
            "request",
            .request,
            cap: .name,
            keep: .essential,
            in: .metadata,
            value: .stored(\.request, { $0.map(FieldValue.request) }) {
                if case .request(let request) = $0 { .some(request) } else { nil }
            },
            "What the program said that the stalled thread was at (withStallContext, OpenTelemetry's thread context); absent where that is not certain."
        ),
        FieldDefinition(
            .requestsOpen,
            "requests_open",
            .requests,
            cap: .name,
            in: [],
            value: .stored(\.requestsOpen, { $0.isEmpty ? nil : .requests($0) }) {
                if case .requests(let requests) = $0 { requests } else { nil }
            },
            "Others that the thread was at for a part of the stall (running), and that were open on its loop or pool when the stall was recognised: at most eight."
        ),
        FieldDefinition(
            .task,
            "task",
            .task,
            cap: .name,
            keep: .essential,
            in: .metadata,
            value: .stored(\.task, { $0.map(FieldValue.task) }) { if case .task(let task) = $0 { .some(task) } else { nil } },
            "The task that ran on the stalled thread: Swift's, or asyncio's of CPython."
        ),
        FieldDefinition(
            .state,
            "state",
            .attributes,
            cap: .name,
            in: .metadata,
            value: .stored(\.state, { $0.isEmpty ? nil : .attributes($0) }) {
                if case .attributes(let attributes) = $0 { attributes } else { nil }
            },
            "What the program added when the stall was recognised (onStallBegin), or published of what its thread was at without a name for it."
        ),
    ]
}
