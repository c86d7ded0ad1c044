internal import CLagBeacon

/// Runs `body` and publishes what it works on: if the thread stalls in it, the stall's record contains it as `request`.
///
/// ```swift
/// import LagMonitor
///
/// withStallContext(name: "GET /orders/:id", ["tenant": tenant]) {
///     respond(to: request)
/// }
/// ```
/// Recorded while a monitor runs whose configuration asks for it (``StallMonitorConfiguration/contexts``); otherwise neither the
/// name nor the attributes are evaluated. If contexts are nested, the innermost counts. At most 4096 are open at once in a
/// process.
///
/// Any thread. Costs a load if no monitor wants contexts; otherwise some 30 ns and a few more for each attribute: no lock, no
/// system call, and no allocation except those of the arguments.
/// - Parameters:
///   - name: the kind of work, the same for all work of that kind: a route, not a path. At most 64 bytes are kept.
///   - attributes: names and values of at most 64 bytes each, as many as fit into 128 bytes in all.
///   - trace: the trace to which it belongs.
///   - body: runs once, on the calling thread.
public func withStallContext<Result: ~Copyable, Failure: Error>(
    name: @autoclosure () -> String,
    _ attributes: @autoclosure () -> StallAttributes = [:],
    trace: @autoclosure () -> StallTrace? = nil,
    _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    guard clb_context_is_wanted() != 0 else { return try body() }
    let task = TaskRuntime.currentTask
    let token = open(name(), attributes(), trace(), task)
    let before = clb_context_get_running()
    // Also without a place: what runs now differs from what ran before.
    clb_context_set_running(clb_context_running(token: token == 0 ? unplaced : token, task: task))
    defer {
        clb_context_set_running(before)
        clb_context_close(token)
    }
    return try body()
}

/// The same for asynchronous work: the context belongs to the task, on whatever thread it runs, and to the tasks that it creates
/// meanwhile.
///
/// ```swift
/// import LagMonitor
///
/// await withStallContext(name: "GET /orders/:id", ["tenant": tenant]) {
///     await respondLater(to: request)
/// }
/// ```
/// For an open context, a stall's record shows whether it was running. A context whose task is suspended runs nowhere, and is
/// never blamed.
///
/// Any task. Costs a load if no monitor wants contexts; otherwise some 80 ns, of which 40 are the runtime's for a task-local
/// value; no lock and no system call.
/// - Parameters:
///   - isolation: the caller's; do not pass it.
// Specialised in the calling module: as generic code of another module it takes three times as long.
@inlinable public func withStallContext<Result, Failure: Error>(
    name: @autoclosure () -> String,
    _ attributes: @autoclosure () -> StallAttributes = [:],
    trace: @autoclosure () -> StallTrace? = nil,
    isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
    guard areStallContextsWanted() else { return try await body() }
    let token = openStallContext(name(), attributes(), trace())
    defer { closeStallContext(token) }
    do {
        return try await stallContextToken.withValue(token, operation: { try await body() }, isolation: isolation)
    } catch {
        // A task-local value's scope throws any error: here only the body's error.
        throw error as! Failure
    }
}

private let unplaced = UInt64.max

@usableFromInline let stallContextToken: TaskLocal<UInt64> = TaskRuntime.$context

/// Whether a monitor records contexts now. A load.
@usableFromInline package func areStallContextsWanted() -> Bool { clb_context_is_wanted() != 0 }

/// - Returns: a token, even if there is no place: what runs then differs from what ran before.
@usableFromInline func openStallContext(
    _ name: String,
    _ attributes: StallAttributes,
    _ trace: StallTrace?
) -> UInt64 {
    let token = open(name, attributes, trace, TaskRuntime.currentTask)
    return token == 0 ? unplaced : token
}

@usableFromInline func closeStallContext(_ token: UInt64) { if token != unplaced { clb_context_close(token) } }

private func open(
    _ name: String,
    _ attributes: StallAttributes,
    _ trace: StallTrace?,
    _ task: UInt64
) -> UInt64 {
    var draft = clb_context_draft()
    if let trace { (draft.trace_high, draft.trace_low, draft.span) = (trace.high, trace.low, trace.span) }
    withBytes(of: name) { clb_draft_name(&draft, $0.baseAddress, $0.count) }
    for (name, value) in attributes.pairs {
        withBytes(of: name) { name in
            withBytes(of: value) { clb_draft_attribute(&draft, name.baseAddress, name.count, $0.baseAddress, $0.count) }
        }
    }
    return clb_context_open(&draft, task)
}

/// The text's own bytes, without a copy except for a short text.
@inline(__always) private func withBytes(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
    var text = text
    text.withUTF8(body)
}
