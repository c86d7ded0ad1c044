/// Decides which records are written when there are many: one bucket of tokens a fingerprint, and one for all of them.
///
/// A record takes a token of each; where either has none it is held back. A limit is for lines that come again, never for what is happening, so
/// the lines of one stall are not alike:
/// - a `begin` line that the two have no token for takes one of a third bucket, which only such lines use and which has the rate of the one for
///   all: so a hang's first line is written however often its function stalled before, and only a flood of hangs is held back;
/// - a `begin` line that was written brings its `end` line along, for no token;
/// - when a `begin` line was held back, the `end` line is decided anew: it is complete in itself, and only what becomes of it counts;
/// - an `abandoned` line is always written, for no token.
///
/// What was held back of a fingerprint is summed up once that is over: before the next record of it that a token lets
/// through, or when none was held back for the quiet time. A summary of the second sort takes one of the tokens for all, so that a
/// flood of different stalls is no flood of summaries: there are at most as many lines as the limit for all says, as many
/// of hangs again, and as many summaries.
///
/// A pure value: time is `CLOCK_MONOTONIC` in nanoseconds, given with every call. Memory: ``capacity`` fingerprints, of which
/// the least recently seen makes room (and begins anew with a full bucket, should it come back; the limit for all
/// holds all the same; what was held back of it is summed up in one line for all such), ``openCapacity`` hangs; a message and
/// a culprit of at most 512 bytes each for what is held back, so some 350 KiB at the very most. A call is a few look-ups by fingerprint; where
/// one has to go, or a summary is due, a visit of each.
package struct RecordLimiter: Sendable {
    /// Fingerprints remembered.
    package static let capacity = 256
    /// Hangs remembered whose `begin` line was written and whose `end` is to come: more than there are episodes.
    static let openCapacity = 128

    package enum Decision: Sendable, Equatable {
        /// It is to be written, after the suppression that it ends.
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
    /// How many fingerprints have something held back.
    private var pending = 0
    /// Stalls held back so far.
    package private(set) var suppressedTotal: UInt64 = 0

    /// - Parameters:
    ///   - perFingerprint: nil: no such limit.
    ///   - overall: nil: no such limit.
    ///   - quietNanoseconds: after so long without another one held back, a summary is due.
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

    /// Decides about a record. Call once for each record, in their order.
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

    /// From when on ``takeDue(at:)`` has something; nil while nothing is held back.
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

    /// Takes a summary whose time has come; nil when there is none (any more).
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

    /// Others come again and again while there are too many: they do not wait for quiet.
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
