internal import CLagBeacon
internal import CLagLinux
internal import LagActivity
internal import LagDetection
internal import LagModel
internal import LagOutput

/// Fills in what the stalled thread was working on. Reporter thread only.
struct RunningFindings {
    let tally: RunningTally
    let contexts: StallContexts?

    /// - Parameters:
    ///   - until: when the stall ended, or is reported (`CLOCK_MONOTONIC`, nanoseconds).
    ///   - threshold: a context that takes half of it is a part of the stall (nanoseconds).
    func fill(_ record: inout StallRecord, until: UInt64, threshold: UInt64) {
        if let task = tally.task {
            record.task = StallRecord.RunningTask(
                id: UInt64(task.number),
                name: task.nameText.map { PlainText.sanitized($0) },
                priority: task.has_priority != 0 ? UInt64(task.priority) : nil,
                awaitedBy: task.awaiterTexts.map { PlainText.sanitized($0) }
            )
        }
        guard let contexts else { return }
        if let running = tally.running {
            let context = running.context
            let request = request(context, contexts, at: until, running: true)
            // A context published by another process may have no name.
            if request.name.isEmpty, context.opened_ns == 0 {
                record.state = request.attributes
            } else {
                record.request = request
            }
            if context.span != 0, context.trace_high | context.trace_low != 0 {
                record.traceID = Hexadecimal.text(context.trace_high) + Hexadecimal.text(context.trace_low)
                record.spanID = Hexadecimal.text(context.span)
            }
        }
        let open = (0..<tally.openCount).map(tally.openContext).sorted { $0.context.opened_ns < $1.context.opened_ns }
        let parts = tally.alsoRan(atLeast: threshold / 2)
        let named = parts.map(\.copy.token) + [tally.running?.token]
        let ran = parts.filter { $0.copy.context.lengths & 0xff != 0 }.map { part in
            // A context that began later had been open for as long as it was seen to run.
            let seen = max(tally.openNanoseconds, part.copy.context.opened_ns.saturatingSum(part.ranNanoseconds))
            return request(part.copy.context, contexts, at: seen, running: true)
        }
        let waiting = open.filter { !named.contains($0.token) }
            .map { request($0.context, contexts, at: tally.openNanoseconds, running: false) }
        record.requestsOpen = Array((ran + waiting).prefix(RunningTally.openCapacity))
    }

    private func request(
        _ context: clb_context,
        _ contexts: StallContexts,
        at now: UInt64,
        running: Bool
    ) -> StallRecord.Request {
        withUnsafeBytes(of: context.text) { text in
            let lengths = (name: Int(context.lengths & 0xff), text: min(Int(context.lengths >> 8 & 0xff), text.count))
            var request = StallRecord.Request(
                name: PlainText.sanitized(text.prefix(min(lengths.name, lengths.text))),
                running: running
            )
            if context.opened_ns != 0 { request.openNanoseconds = now.saturatingDifference(context.opened_ns) }
            var rest = text[min(lengths.name, lengths.text)..<lengths.text]
            while let name = Self.takeText(&rest), let value = Self.takeText(&rest) {
                guard !request.attributes.contains(where: { $0.name == name }) else { continue }
                guard let value = contexts.redacted(name, value) else { continue }
                request.attributes.append(.init(name: name, value: PlainText.sanitized(value)))
            }
            return request
        }
    }

    /// A length, then that many bytes.
    private static func takeText(_ rest: inout Slice<UnsafeRawBufferPointer>) -> String? {
        guard let length = rest.first.map(Int.init), rest.count > length else { return nil }
        let text = rest.dropFirst().prefix(length)
        rest = rest.dropFirst(length + 1)
        return PlainText.sanitized(text)
    }
}
