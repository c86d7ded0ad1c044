internal import LagModel
internal import LagReader

/// A stall record as readable text: what, when and where, why, and the stacks as a debugger shows them.
struct StallText {
    private let text: JSONText
    private var record: JSONText.Value { text.root }

    init(_ line: StallLine) { text = line.text }

    /// The paragraph, with a newline at its end.
    var paragraph: String {
        var lines = [string("message") ?? "a stall"]
        lines.append("  when: \(when)")
        lines.append("  where: \(place)")
        lines.append("  why: \(why)")
        if let culprit = string("culprit") {
            lines.append("  culprit: \(culprit)" + (number("culprit_confidence").map { " (confidence \($0))" } ?? ""))
        }
        if let error = string("capture_error") { lines.append("  no stack: \(error)") }
        lines += stack(of: record, total: number("frames_total").flatMap { Int($0) })
        if let owner = text.member("lock_owner", of: record) { lines += thread(owner, as: "lock owner") }
        for member in text.elements("lock_cycle", of: record) { lines += thread(member, as: "in the cycle") }
        for member in text.elements("lock_chain", of: record) { lines += thread(member, as: "in the chain") }
        for group in text.elements("workers", of: record) { lines += workers(group) }
        // One fact per line: a newline in a name must not start another line.
        return lines.map { PlainText.sanitized($0) + "\n" }.joined()
    }

    private func string(_ name: String) -> String? { text.string(text.member(name, of: record)) }
    private func number(_ name: String) -> String? { text.number(text.member(name, of: record)) }

    /// A duration in milliseconds as readable text.
    private func duration(_ name: String) -> String? {
        guard var written = number(name) else { return nil }
        return written.withUTF8 { JSONNumber.nanoseconds(ofMilliseconds: $0) }.map { DurationText.text(nanoseconds: $0) }
    }

    private var when: String {
        let parts = [
            string("time"),
            duration("duration_ms").map { "for \($0)" },
            duration("threshold_ms").map { "threshold \($0)" },
            string("kind").map { "rule \($0)" },
            string("phase"),
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }

    private var place: String {
        let process = (string("process_name") ?? "?") + (number("pid").map { "[\($0)]" } ?? "")
        let thread = string("thread_name").map { "thread \($0)" }
        let loop = string("loop").map { "loop \($0)" }
        let host = string("host_name").map { "host \($0)" }
        let pod = string("k8s_pod_name").map { "pod \($0)" }
        return [process, thread, loop, host, pod].compactMap { $0 }.joined(separator: ", ")
    }

    private var why: String {
        let times = [
            ("cpu_ms", "computing"), ("blocked_ms", "blocked"), ("run_delay_ms", "waiting for a processor"),
            ("throttled_ms", "of that by the CPU quota"),
        ]
        let parts =
            times.compactMap { name, meaning in duration(name).map { "\($0) \(meaning)" } }
            + [
                string("syscall").map { "in \($0)" }, string("syscall_target").map { "on \($0)" },
                string("lock_kind").map { "lock \($0)" }, number("lock_readers").map { "readers that hold it: \($0)" },
                string("wchan").map { "kernel waits in \($0)" },
            ].compactMap { $0 }
            + [("major_faults", "pages read from disk"), ("minor_faults", "pages mapped")].compactMap { name, meaning in
                number(name).flatMap { $0 == "0" ? nil : "\($0) \(meaning)" }
            }
        return (string("cause") ?? "unknown") + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))
    }

    private func thread(_ value: JSONText.Value, as role: String) -> [String] {
        let id = text.number(text.member("thread_id", of: value)) ?? "?"
        let name = text.string(text.member("thread_name", of: value)).map { " \($0)" } ?? ""
        return ["  \(role): thread \(id)\(name)"] + stack(of: value, total: nil)
    }

    /// Threads of a pool that had the same stack. The group with the record's own stack has no frames.
    private func workers(_ group: JSONText.Value) -> [String] {
        let ids = text.elements("thread_ids", of: group).compactMap { text.number($0) }
        let threads = ids.count == 1 ? "thread" : "threads"
        return ["  workers: \(threads) \(ids.joined(separator: " "))"] + stack(of: group, total: nil)
    }

    private func stack(of thread: JSONText.Value, total: Int?) -> [String] {
        let frames = text.elements("frames", of: thread)
        var lines = frames.enumerated().map { "#\($0.offset) \(frame($0.element))" }
        // The total does not count inlined functions.
        let called = frames.count { !text.isTrue(text.member("inlined", of: $0)) }
        if let total, total > called { lines.append("   … \(total - called) more, left out of the record") }
        return lines
    }

    private func frame(_ frame: JSONText.Value) -> String {
        func string(_ name: String) -> String? { text.string(text.member(name, of: frame)) }
        func isTrue(_ name: String) -> Bool { text.isTrue(text.member(name, of: frame)) }
        let inlined = isTrue("tail_call") ? " (tail call)" : isTrue("inlined") ? " (inlined)" : ""
        let module = string("module").map { " in \($0)" } ?? ""
        let name = string("symbol") ?? string("offset") ?? string("pc") ?? "?"
        if let file = string("file") {
            let line = text.number(text.member("line", of: frame)).map { ":\($0)" } ?? ""
            return "\(name) at \(file)\(line)\(inlined)"
        }
        let offset = text.number(text.member("symbol_offset", of: frame)).map { " + \($0)" } ?? ""
        return "\(name)\(offset)\(module)\(inlined)"
    }
}
