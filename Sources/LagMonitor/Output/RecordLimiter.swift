/// Decides which records are written when there are many: one bucket of tokens for each fingerprint, and one for all of them.
///
/// A record takes a token from each; if either has none, the record is held back. A limit is for recurring lines, never for a
/// stall in progress, so the lines of one stall are treated differently:
/// - a `begin` line for which the two have no token takes one from a third bucket, which only such lines use and which has the
///   rate of the common one: so a hang's first line is written however often its function stalled before, and only a flood of
///   hangs is held back;
/// - after a `begin` line was written, its `end` line needs no token;
/// - after a `begin` line was held back, the `end` line is decided separately: it is complete in itself, and only its result
///   counts;
/// - an `abandoned` line is always written and needs no token.
///
/// What was held back of a fingerprint is summarized when that is over: before its next record with a token, or when none was
/// held back for the quiet time. A summary of the second sort takes one of the common tokens, so that a flood of different stalls
/// does not cause a flood of summaries: there are at most as many lines as the common limit allows, as many of hangs again, and
/// as many summaries.
///
/// A pure value: time is `CLOCK_MONOTONIC` in nanoseconds, passed with every call. Memory: ``capacity`` fingerprints and
/// ``openCapacity`` hangs; a message and a culprit of at most 512 bytes each for what is held back, so some 350 KiB at most. The
/// least recently seen fingerprint is evicted. If it comes back, it starts with a full bucket, but the common limit still
/// applies. What was held back of all evicted fingerprints is summarized in one line. A call is a few look-ups by fingerprint;
/// for an eviction, or a due summary, it visits each.
package struct RecordLimiter: Sendable {
    /// Fingerprints remembered.
    package static let capacity = 256
    /// Remembered hangs whose `begin` line was written and whose `end` is still to come: more than there are episodes.
    static let openCapacity = 128

    package enum Decision: Sendable, Equatable {
        /// It is to be written, after the summary of what it ends.
        case emit(after: Suppression?)
        /// It is held back.
        case suppress
    }

    private struct FingerprintState: Sendable {
        var bucket = TokenBucket()
        var held: Suppression?
    }

    private let perFingerprint: TokenRate?
    private let overall: TokenRate?
    private let quietNanoseconds: UInt64
    private var bucket = TokenBucket()
    private var reserve = TokenBucket()
    private var known: LRUTable<FingerprintState>
    private var others = Suppression(fingerprint: nil)
    private var open: [StallID] = []
    /// How many fingerprints have records held back.
    private var pending = 0
    /// Stalls held back so far.
    package private(set) var suppressedTotal: UInt64 = 0

    /// - Parameters:
    ///   - perFingerprint: nil: no such limit.
    ///   - overall: nil: no such limit.
    ///   - quietNanoseconds: when no record was held back for this long, a summary is due.
    package init(
        perFingerprint: TokenRate?,
        overall: TokenRate?,
        quietNanoseconds: UInt64,
        capacity: Int = RecordLimiter.capacity
    ) {
        self.perFingerprint = perFingerprint
        self.overall = overall
        self.quietNanoseconds = quietNanoseconds
        known = LRUTable(capacity: capacity)
    }

    /// Fingerprints remembered now.
    var fingerprints: Int { known.count }

    /// Decides about a record. Call it once for each record, in their order.
    package mutating func decide(_ record: borrowing StallRecord, at now: UInt64) -> Decision {
        guard perFingerprint != nil || overall != nil else { return .emit(after: nil) }
        let id = record.id
        let isBegin = record.phase == .begin
        if !isBegin, let index = open.firstIndex(of: id) {
            open.remove(at: index)
            return .emit(after: nil)
        }
        if record.phase == .abandoned { return .emit(after: nil) }

        let fingerprint = record.fingerprint
        if let gone = known.use(fingerprint, orInsert: FingerprintState()) { forget(gone.value, at: now) }
        var entry = known[fingerprint] ?? FingerprintState()
        defer { known[fingerprint] = entry }
        if canTake(entry.bucket, perFingerprint, at: now), canTake(bucket, overall, at: now) {
            if let perFingerprint { entry.bucket.take(perFingerprint, at: now) }
            if let overall { bucket.take(overall, at: now) }
        } else if isBegin, canTake(reserve, overall, at: now) {
            if let overall { reserve.take(overall, at: now) }
        } else {
            if !isBegin { hold(record, &entry, at: now) }
            return .suppress
        }
        if isBegin { remember(id) }
        defer { entry.held = nil }
        if entry.held != nil { pending -= 1 }
        return .emit(after: entry.held)
    }

    private mutating func hold(_ record: borrowing StallRecord, _ entry: inout FingerprintState, at now: UInt64) {
        if entry.held == nil { pending += 1 }
        var held = entry.held ?? Suppression(fingerprint: record.fingerprint)
        held.add(record, at: now)
        entry.held = held
        suppressedTotal += 1
    }

    /// When ``takeDue(at:)`` has something; nil while nothing is held back.
    package var deadline: UInt64? {
        var earliest: UInt64?
        if pending > 0 {
            known.visit { _, entry in
                guard let due = entry.held.map(due) else { return }
                earliest = min(earliest ?? .max, due)
            }
        }
        if others.count > 0 { earliest = min(earliest ?? .max, due(others)) }
        return earliest.map { earliest in max(earliest, overall.map(bucket.nextToken) ?? 0) }
    }

    /// Takes a summary that is due; nil if there is none (any more).
    package mutating func takeDue(at now: UInt64) -> Suppression? {
        guard pending > 0 || others.count > 0, let deadline, deadline <= now else { return nil }
        if let overall { bucket.take(overall, at: now) }
        if others.count > 0, due(others) <= now { return takeOthers() }
        var first: (due: UInt64, fingerprint: String)?
        known.visit { fingerprint, entry in
            guard let due = entry.held.map(due), due <= now else { return }
            if first.map({ (due, fingerprint) < ($0.due, $0.fingerprint) }) ?? true { first = (due, fingerprint) }
        }
        return first.flatMap { takeHeld(of: $0.fingerprint) }
    }

    /// Takes everything that was held back and not reported; for the end.
    package mutating func takeAll() -> [Suppression] {
        var all: [Suppression] = []
        for (fingerprint, entry) in known.leastRecentFirst where entry.held != nil {
            if let held = takeHeld(of: fingerprint) { all.append(held) }
        }
        if let others = takeOthers() { all.append(others) }
        return all
    }

    private func canTake(_ bucket: TokenBucket, _ rate: TokenRate?, at now: UInt64) -> Bool {
        rate.map { bucket.nextToken($0) <= now } ?? true
    }

    /// The evicted ones recur while there are too many: they do not wait for quiet.
    private func due(_ held: Suppression) -> UInt64 {
        let from = held.fingerprint == nil ? held.firstSuppressedNanoseconds : held.lastSuppressedNanoseconds
        return from.saturatingSum(quietNanoseconds)
    }

    private mutating func takeHeld(of fingerprint: String) -> Suppression? {
        guard var entry = known[fingerprint], let held = entry.held else { return nil }
        entry.held = nil
        known[fingerprint] = entry
        pending -= 1
        return held
    }

    private mutating func takeOthers() -> Suppression? {
        guard others.count > 0 else { return nil }
        defer { others = Suppression(fingerprint: nil) }
        return others
    }

    private mutating func forget(_ entry: FingerprintState, at now: UInt64) {
        guard let held = entry.held else { return }
        pending -= 1
        others.add(held, at: now)
    }

    private mutating func remember(_ hang: StallID) {
        if open.count >= Self.openCapacity { open.removeFirst() }
        open.append(hang)
    }
}
