import LagOutput

/// A simple model of the limiter: levels that rise with the clock, and lists of everything that was suppressed. It forgets no
/// fingerprint.
struct NaiveLimiter {
    struct Suppressed {
        var count: UInt64 = 0
        var total: UInt64 = 0
        var longest: UInt64 = 0
        var last: UInt64 = 0
    }

    private struct Level {
        /// In nanoseconds of refilling; a token is one interval.
        var level: UInt64
        var at: UInt64

        mutating func rise(_ rate: TokenRate, _ now: UInt64) {
            level = min(rate.burst * rate.intervalNanoseconds, level + (now - at))
            at = now
        }
    }

    let perFingerprint: TokenRate?
    let overall: TokenRate?
    let quiet: UInt64
    private var levels: [String: Level] = [:]
    private var all: Level?
    private var hangs: Level?
    private var begun: Set<StallID> = []
    var held: [String: Suppressed] = [:]

    init(perFingerprint: TokenRate?, overall: TokenRate?, quiet: UInt64) {
        self.perFingerprint = perFingerprint
        self.overall = overall
        self.quiet = quiet
    }

    /// Returns whether the record is reported, and the suppression that it ends.
    mutating func decide(_ record: StallRecord, at now: UInt64) -> (isEmitted: Bool, ended: Suppressed?) {
        let isBegin = record.phase == .begin
        if !isBegin, begun.remove(record.id) != nil { return (true, nil) }
        if record.phase == .abandoned { return (true, nil) }
        if take(record.fingerprint, now) || (isBegin && take(&hangs, now)) {
            if isBegin { begun.insert(record.id) }
            return (true, held.removeValue(forKey: record.fingerprint))
        }
        if isBegin { return (false, nil) }
        var sum = held[record.fingerprint] ?? Suppressed()
        sum.count += 1
        sum.total += record.durationNanoseconds
        sum.longest = max(sum.longest, record.durationNanoseconds)
        sum.last = now
        held[record.fingerprint] = sum
        return (false, nil)
    }

    /// The summaries that are due, limited by the available tokens.
    mutating func takeDue(at now: UInt64) -> [String] {
        var due: [String] = []
        for (name, _) in held.filter({ $0.value.last + quiet <= now }).sorted(by: {
            ($0.value.last, $0.key) < ($1.value.last, $1.key)
        }) {
            guard take(&all, now) else { break }
            held[name] = nil
            due.append(name)
        }
        return due
    }

    private mutating func take(_ name: String, _ now: UInt64) -> Bool {
        var own: Level?
        if let perFingerprint {
            var level = levels[name] ?? Level(level: perFingerprint.burst * perFingerprint.intervalNanoseconds, at: now)
            level.rise(perFingerprint, now)
            levels[name] = level
            guard level.level >= perFingerprint.intervalNanoseconds else { return false }
            level.level -= perFingerprint.intervalNanoseconds
            own = level
        }
        guard take(&all, now) else { return false }
        if let own { levels[name] = own }
        return true
    }

    private func take(_ bucket: inout Level?, _ now: UInt64) -> Bool {
        guard let overall else { return true }
        var level = bucket ?? Level(level: overall.burst * overall.intervalNanoseconds, at: now)
        level.rise(overall, now)
        let isThere = level.level >= overall.intervalNanoseconds
        if isThere { level.level -= overall.intervalNanoseconds }
        bucket = level
        return isThere
    }
}
