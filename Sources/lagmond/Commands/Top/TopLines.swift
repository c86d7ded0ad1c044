internal import LagOutput
internal import LagReader

/// The groups as JSON, one object per line.
struct TopLines {
    let by: GroupKey

    func lines(_ ranking: TopRanking) -> [UInt8] {
        var output: [UInt8] = []
        var writer = JSONLineWriter()
        for group in ranking.shown {
            writer.reset()
            write(group, &writer)
            writer.withBytes { output += $0 }
        }
        return output
    }

    private func write(_ group: StallGroup, _ writer: inout JSONLineWriter) {
        writer.beginObject()
        switch by {
        case .fingerprint, .culprit: break
        case .cause: break
        case .loop: text("loop", group.key, &writer)
        case .process, .service, .target: break
        case .host: text("host_name", group.key, &writer)
        case .incident: text("incident", group.key, &writer)
        case .request: text("request", group.key, &writer)
        case .label(let name):
            writer.key("labels")
            writer.beginObject()
            writer.key(label: name)
            group.key.withUnsafeBufferPointer { writer.value(utf8: $0) }
            writer.endObject()
        }
        text("fingerprint", by == .fingerprint ? group.key : group.fingerprint.text, &writer)
        text("culprit", by == .culprit ? group.key : group.culprit.text, &writer)
        text("process_name", by == .process ? group.key : group.process.text, &writer)
        text("service_name", by == .service || by == .target ? group.key : group.service.text, &writer)
        writer.key("cause")
        writer.value(by == .cause ? String(decoding: group.key, as: UTF8.self) : group.cause)
        writer.key("causes")
        writer.beginObject()
        for (name, count) in zip(Self.causes, group.causes) where count > 0 {
            writer.field(name, count)
        }
        writer.endObject()
        number("count", group.count, &writer)
        number("open", group.openCount, &writer)
        milliseconds("total_ms", group.totalNanoseconds, &writer)
        milliseconds("p50_ms", group.nanoseconds(atShare: 0.5), &writer)
        milliseconds("p99_ms", group.nanoseconds(atShare: 0.99), &writer)
        milliseconds("worst_ms", group.worstNanoseconds, &writer)
        number("hosts", UInt64(group.hosts.count), &writer)
        if group.lastTime != .min {
            writer.key("first_seen")
            writer.value(UTCTime.text(group.firstTime, fractionDigits: 3))
            writer.key("last_seen")
            writer.value(UTCTime.text(group.lastTime, fractionDigits: 3))
        }
        number("held_back", group.heldBackCount, &writer)
        milliseconds("held_back_ms", group.heldBackNanoseconds, &writer)
        writer.endObject()
        writer.endLine()
    }

    private static let causes: [StaticString] = ["cpu", "syscall", "lock", "deadlock", "runqueue", "page_fault", "unknown"]

    private func text(_ key: StaticString, _ bytes: [UInt8], _ writer: inout JSONLineWriter) {
        writer.key(key)
        bytes.withUnsafeBufferPointer { writer.value(utf8: $0) }
    }

    private func number(_ key: StaticString, _ number: UInt64, _ writer: inout JSONLineWriter) {
        writer.field(key, number)
    }

    private func milliseconds(_ key: StaticString, _ nanoseconds: UInt64, _ writer: inout JSONLineWriter) {
        writer.field(key, millisecondsOf: nanoseconds)
    }
}
