import LagOutput

/// What a limiter should decide, written down as one would say it: levels that rise with the clock, lists of everything
/// that was held back. It forgets no fingerprint.
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
    private var begun: [StallID: (isEmitted: Bool, duration: UInt64)] = [:]
    var held: [String: Suppressed] = [:]

    init(perFingerprint: TokenRate?, overall: TokenRate?, quiet: UInt64) {
        self.perFingerprint = perFingerprint
        self.overall = overall
        self.quiet = quiet
    }

    /// Whether it is reported, and how many held back it brings to an end.
    mutating func decide(_ record: StallRecord, at now: UInt64) -> (isEmitted: Bool, ended: Suppressed?) {
        let before = record.phase == .begin ? nil : begun.removeValue(forKey: record.id)
        if record.phase == .abandoned || before?.isEmitted == true { return (true, nil) }
        let isEmitted = take(record.fingerprint, now)
        if record.phase == .begin { begun[record.id] = (isEmitted, record.durationNanoseconds) }
        if isEmitted { return (true, held.removeValue(forKey: record.fingerprint)) }
        var sum = held[record.fingerprint] ?? Suppressed()
        sum.count += 1
        sum.total += record.durationNanoseconds - (before?.duration ?? 0)
        sum.longest = max(sum.longest, record.durationNanoseconds)
        sum.last = now
        held[record.fingerprint] = sum
        return (false, nil)
    }

    /// Summaries whose time has come, as many as there are tokens for.
    mutating func takeDue(at now: UInt64) -> [String] {
        var due: [String] = []
        for (name, _) in held.filter({ $0.value.last + quiet <= now }).sorted(by: {
            ($0.value.last, $0.key) < ($1.value.last, $1.key)
        }) {
            guard takeAll(now) else { break }
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
        guard takeAll(now) else { return false }
        if let own { levels[name] = own }
        return true
    }

    private mutating func takeAll(_ now: UInt64) -> Bool {
        guard let overall else { return true }
        var level = all ?? Level(level: overall.burst * overall.intervalNanoseconds, at: now)
        level.rise(overall, now)
        let isThere = level.level >= overall.intervalNanoseconds
        if isThere { level.level -= overall.intervalNanoseconds }
        all = level
        return isThere
    }
}
