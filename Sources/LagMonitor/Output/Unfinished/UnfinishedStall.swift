/// A stall in progress, kept in case the process dies during it: its line in each written format, so that another process can
/// report it later without changes.
package struct UnfinishedStall: Sendable, Equatable {
    package let facts: LineFacts
    package let lines: [RecordFormat: [UInt8]]

    package init(facts: LineFacts, lines: [RecordFormat: [UInt8]]) {
        self.facts = facts
        self.lines = lines
    }

    /// As byte strings, each after its length: message, severity, id, kind, cause, loop, thread, duration, fingerprint, culprit,
    /// and then the format and the text of each line.
    func encode(to bytes: inout [UInt8]) {
        guard let stall = facts.stall else { return }
        var fields: [[UInt8]] = [
            facts.message, facts.severity.rawValue, stall.id.description, stall.kind.rawValue, stall.cause.rawValue, stall.loop,
            "\(stall.threadID)", "\(stall.durationNanoseconds)", facts.fingerprint ?? "", facts.culprit ?? "",
        ].map { Array($0.utf8) }
        for name in RecordFormat.names {
            guard let format = RecordFormat(named: name), let line = lines[format] else { continue }
            fields += [Array(name.utf8), line]
        }
        Self.append(UInt32(fields.count), to: &bytes)
        for field in fields {
            Self.append(UInt32(field.count), to: &bytes)
            bytes += field
        }
    }

    /// All that ``encode(to:)`` appended; nil if the bytes are not that.
    static func decodeAll(_ bytes: ArraySlice<UInt8>) -> [UnfinishedStall]? {
        var rest = bytes
        var stalls: [UnfinishedStall] = []
        while !rest.isEmpty {
            guard let stall = UnfinishedStall(decoding: &rest) else { return nil }
            stalls.append(stall)
        }
        return stalls
    }

    private static let factCount = 10

    private init?(decoding bytes: inout ArraySlice<UInt8>) {
        guard let count = Self.number(&bytes), count >= Self.factCount, count % 2 == 0, count < 64 else { return nil }
        var fields: [ArraySlice<UInt8>] = []
        for _ in 0..<count {
            guard let length = Self.number(&bytes), length <= bytes.count else { return nil }
            fields.append(bytes.prefix(length))
            bytes = bytes.dropFirst(length)
        }
        let texts = fields[..<Self.factCount].map { String(decoding: $0, as: UTF8.self) }
        guard let severity = StallRecord.Severity(rawValue: texts[1]), let id = StallID(texts[2]),
            let kind = StallRecord.Kind(rawValue: texts[3]), let cause = StallRecord.Cause(rawValue: texts[4]),
            let thread = Int32(texts[6]), let duration = UInt64(texts[7])
        else { return nil }
        var facts = LineFacts(event: "stall", severity: severity, message: texts[0])
        facts.stall = LineFacts.Stall(
            id: id,
            phase: .abandoned,
            kind: kind,
            cause: cause,
            loop: texts[5],
            threadID: thread,
            durationNanoseconds: duration
        )
        facts.fingerprint = texts[8].isEmpty ? nil : texts[8]
        facts.culprit = texts[9].isEmpty ? nil : texts[9]
        var lines: [RecordFormat: [UInt8]] = [:]
        for index in stride(from: Self.factCount, to: count, by: 2) {
            // One complete line: what another version may write in addition is ignored.
            guard let format = RecordFormat(named: String(decoding: fields[index], as: UTF8.self)),
                fields[index + 1].last == UInt8(ascii: "\n"), !fields[index + 1].dropLast().contains(UInt8(ascii: "\n"))
            else { return nil }
            lines[format] = Array(fields[index + 1])
        }
        self.init(facts: facts, lines: lines)
    }

    private static func append(_ number: UInt32, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }

    private static func number(_ bytes: inout ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= 4 else { return nil }
        let value = bytes.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        bytes = bytes.dropFirst(4)
        return value
    }
}
