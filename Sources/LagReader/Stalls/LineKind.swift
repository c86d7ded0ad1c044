package import LagModel

/// The kind of a line, for counting stalls.
package enum LineKind: Sendable, Equatable {
    /// A stall, by its phase.
    case begin, end, abandoned
    /// A line about records that a limit suppressed.
    case suppressed
    /// Another of our lines: about losses, or recurring stalls.
    case notice
    /// JSON, but not ours.
    case foreign
    /// Ours, but without a field that a stall requires; with that field.
    case incomplete(StallField)
}

extension LineScanner {
    /// The kind of the line that was scanned last.
    package borrowing func kind() -> LineKind {
        guard let schema = span(.schema), schema.kind == .string else { return .foreign }
        guard has(.schema, StallRecord.schema) else { return .foreign }
        guard has(.event, "stall") else { return has(.event, "suppressed") ? suppressedKind() : .notice }
        for field in [StallField.id, .fingerprint] where span(field)?.kind != .string { return .incomplete(field) }
        guard nanoseconds(.duration) != nil else { return .incomplete(.duration) }
        guard time(.time) != nil else { return .incomplete(.time) }
        if has(.phase, "end") { return .end }
        if has(.phase, "begin") { return .begin }
        return has(.phase, "abandoned") ? .abandoned : .incomplete(.phase)
    }

    private borrowing func suppressedKind() -> LineKind {
        guard count(.suppressed) != nil else { return .incomplete(.suppressed) }
        guard nanoseconds(.total) != nil else { return .incomplete(.total) }
        return time(.lastTime) == nil ? .incomplete(.lastTime) : .suppressed
    }

    /// The key of the stall in a ``StallDeduplicator``.
    package borrowing func idHash() -> UInt64 { withText(.id) { ByteHash.hash($0) } ?? 0 }

    /// Whether a line of this kind counts now. Duplicates do not, nor do lines of stalls that will be reported with their end.
    package borrowing func isCounted(_ kind: LineKind, by deduplicator: StallDeduplicator) -> Bool {
        switch kind {
        case .begin, .end, .abandoned:
            deduplicator.admit(idHash(), isBegin: kind == .begin, line: bytes) == .count
        case .suppressed:
            // They have no id; a process writes one per fingerprint at a time.
            deduplicator.admit(noticeHash(), isBegin: false, line: bytes) == .count
        case .notice, .foreign, .incomplete: false
        }
    }

    private borrowing func noticeHash() -> UInt64 {
        [StallField.hostName, .bootID, .pid, .mono, .fingerprint, .suppressedTotal].reduce(1) { hash, field in
            guard let span = span(field) else { return hash &* 31 }
            return ByteHash.hash(bytes(of: span), seed: hash)
        }
    }
}
