internal import CLagLinux
internal import Glibc
internal import LagActivity
internal import LagModel

/// What a thread has used since the beginning of its loop's stall, although it was not measured exactly then.
///
/// The thread's CPU clock is read at every scan. Two readings around the beginning of the present callout, and of the present
/// stretch without idle time, bound its value then. The scheduler's and the memory management's figures cost more to read: they
/// are read at the first sign of a stall, and the time before is assumed to have been like the time afterwards. The run delay is
/// read with the clock: if a quota holds up the watchdog together with the loop, the first sign may be close to the end.
struct UsageMeter {
    /// The CPU clock at some time; all in nanoseconds.
    struct Reading: Equatable {
        var time: UInt64
        var cpu: UInt64
        /// How long the thread had waited for a processor by then; nil: not read.
        var runDelay: UInt64?
    }

    /// Readings before and after something began.
    struct Anchor: Equatable {
        var before: Reading?
        var after: Reading

        /// The clock's value at `time`, which is between the two readings: lower and upper bound.
        ///
        /// It runs no faster than time.
        func bounds(at time: UInt64) -> ClosedRange<UInt64> {
            let sinceThen = after.time.saturatingDifference(time)
            var low = after.cpu.saturatingDifference(sinceThen)
            var high = after.cpu
            // A clock that went back belongs to another thread: the kernel reuses the id of a thread that is gone.
            if let before, before.time <= time, before.cpu <= after.cpu {
                low = max(low, before.cpu)
                high = min(high, before.cpu.saturatingSum(time - before.time))
            }
            return low...max(low, high)
        }
    }

    /// What is read at the first sign of a stall, and at its end.
    struct Totals {
        var reading: Reading
        var times: ThreadTimes?
        var faults: cll_thread_faults?

        /// Three files of `/proc`, some 20 µs. No lock, no allocation.
        init?(tid: Int32, process: Int32 = getpid(), at time: UInt64) {
            // 0 would be the calling thread.
            guard tid != 0 else { return nil }
            times = ThreadTimes(tid: tid, process: process)
            let cpu = process == getpid() ? cll_thread_cpu_ns(tid) : times?.cpuNanoseconds ?? 0
            guard cpu > 0 else { return nil }
            reading = Reading(time: time, cpu: cpu)
            var faults = cll_thread_faults()
            if cll_procfs_faults(process, tid, &faults) == 0 { self.faults = faults }
        }

        init(reading: Reading, times: ThreadTimes?, faults: cll_thread_faults?) {
            self.reading = reading
            self.times = times
            self.faults = faults
        }
    }

    private var previous: Reading?
    private var latest: Reading?
    private var word: UInt64 = .max
    /// Whether the loop was waiting at the latest reading.
    private var wasAtRest = false
    private var woke: UInt64 = .max
    private(set) var callout: Anchor?
    private(set) var wake: Anchor?
    /// At the first sign of the present suspicion.
    var first: Totals?
    /// What quotas had taken at that time.
    var throttles: ThrottleHistory?
    /// The rule that leads in the stall in progress: its anchor is kept, whatever the loop does before the end is reported.
    private(set) var stalled: StallKind?
    private var stalledSince: UInt64 = 0

    mutating func begin(_ kind: StallKind, since: UInt64) {
        stalled = kind
        stalledSince = since
    }

    mutating func end() {
        stalled = nil
        first = nil
        throttles = nil
        // Its present work gets an anchor of its own.
        word = .max
        wasAtRest = false
        woke = .max
    }

    /// Fewer than from one wake to the next, for any kind of loop.
    private static let activitiesOfOneWake: UInt64 = 2

    /// How long the thread ran between `since` and `reading`, at least.
    ///
    /// Since the latest reading, it can have run before `since` no longer than that time. If the loop was idle at that reading,
    /// and this is its first wake, it can have run no longer than since the wake.
    func ran(since: UInt64, _ reading: Reading, _ beacon: BeaconReading) -> UInt64 {
        // A clock that could not be read is 0; one that went back is another thread's.
        guard let latest, latest.cpu > 0, reading.cpu >= latest.cpu else { return 0 }
        let isFirstWake = wasAtRest && (beacon.word >> 8) &- (word >> 8) <= Self.activitiesOfOneWake
        let before = since.saturatingDifference(isFirstWake ? max(latest.time, beacon.wokeNanoseconds) : latest.time)
        return min(
            reading.cpu.saturatingDifference(latest.cpu).saturatingDifference(before),
            reading.time.saturatingDifference(max(since, latest.time))
        )
    }

    /// How long the thread has waited for a processor since the latest reading; 0 if it is not known.
    func waited(until reading: Reading) -> UInt64 {
        guard let then = latest?.runDelay, let now = reading.runDelay else { return 0 }
        return now.saturatingDifference(then)
    }

    /// Records a scan of the loop.
    mutating func record(_ reading: Reading, _ beacon: BeaconReading) {
        if beacon.word != word, !isHeld(callout, stalled == .callout) { callout = anchor(at: beacon.calloutNanoseconds, reading) }
        if beacon.wokeNanoseconds != woke, !isHeld(wake, stalled != nil && stalled != .callout) {
            wake = anchor(at: beacon.wokeNanoseconds, reading)
        }
        word = beacon.word
        wasAtRest = beacon.activity == .waiting
        woke = beacon.wokeNanoseconds
        previous = latest
        latest = reading
    }

    /// Whether an anchor belongs to the stall in progress. If the first scan found the stall, it is created right afterwards.
    private func isHeld(_ anchor: Anchor?, _ isStalled: Bool) -> Bool {
        isStalled && (anchor?.after.time ?? 0) >= stalledSince
    }

    /// The readings next to a time. A loop that wakes is often scanned twice in the callout that follows: the beacon's word
    /// changes a last time after the first scan.
    private func anchor(at time: UInt64, _ present: Reading) -> Anchor {
        guard let latest, latest.time >= time else { return Anchor(before: latest, after: present) }
        guard let previous, previous.time >= time else { return Anchor(before: previous, after: latest) }
        return Anchor(before: nil, after: previous)
    }

    /// The usage from `since` to `until`; the loop's own time in it is `length`.
    /// - Parameters:
    ///   - spansCallouts: whether the stall is longer than the present callout.
    ///   - asleep: how long samples found the thread asleep. It limits the run delay, because Linux 6.18 counts some sleep as run
    ///     delay.
    ///   - last: read at `until` or later.
    func usage(
        since: UInt64,
        until: UInt64,
        length: UInt64,
        spansCallouts: Bool,
        asleep: UInt64 = 0,
        _ last: Totals
    ) -> ThreadUsage {
        let first = first.flatMap { $0.reading.time >= since && $0.reading.time < last.reading.time ? $0 : nil }
        // The earliest reading within the stall.
        let anchor = (spansCallouts ? wake : callout).flatMap { $0.after.time >= since ? $0 : nil }
        guard let begin = anchor ?? first.map({ Anchor(before: nil, after: $0.reading) }), begin.after.time < last.reading.time
        else { return unseenUsage(since, until, length, last) }
        let seen = last.reading.time - begin.after.time
        let seenCPU = min(last.reading.cpu.saturatingDifference(begin.after.cpu), seen)
        let bounds = begin.bounds(at: since)
        // As busy before as afterwards, within the possible range.
        let unseen = begin.after.time - since
        let guessed = begin.after.cpu.saturatingDifference(Self.scaled(seenCPU, by: unseen, of: seen))
        let before = begin.after.cpu - min(max(guessed, bounds.lowerBound), bounds.upperBound)
        var usage = ThreadUsage()
        let cpu = min((before + seenCPU).saturatingDifference(afterwards(until, begin, last.reading)), length)
        usage.cpuNanoseconds = cpu
        usage.blockedNanoseconds = length - cpu
        if let measured = runDelay(since, until, begin, first, last) {
            let delay = min(measured, (length - cpu).saturatingDifference(asleep))
            usage.runDelayNanoseconds = delay
            usage.blockedNanoseconds = length - cpu - delay
        }
        guard let first else { return usage }
        if let now = last.faults, let then = first.faults {
            usage.minorFaults = now.minor.saturatingDifference(then.minor)
            usage.majorFaults = now.major.saturatingDifference(then.major)
            let own = last.reading.cpu.saturatingDifference(first.reading.cpu)
            usage.systemNanoseconds = Self.scaled(min(now.system_ns.saturatingDifference(then.system_ns), own), by: cpu, of: own)
        }
        return usage
    }

    /// How much the thread ran between the end and the reading after it, which does not belong to the stall: as busy as since the
    /// reading before, within the possible range.
    private func afterwards(_ until: UInt64, _ begin: Anchor, _ last: Reading) -> UInt64 {
        let after = last.time.saturatingDifference(until)
        var reading = begin.after
        if let latest, latest.time > reading.time, latest.time <= until, latest.cpu >= reading.cpu { reading = latest }
        let time = last.time.saturatingDifference(reading.time)
        let ran = last.cpu.saturatingDifference(reading.cpu)
        let least = ran.saturatingDifference(time.saturatingDifference(after))
        return max(least, min(Self.scaled(ran, by: after, of: time), after))
    }

    /// How long the thread waited for a processor.
    private func runDelay(_ since: UInt64, _ until: UInt64, _ begin: Anchor, _ first: Totals?, _ last: Totals) -> UInt64? {
        guard let now = last.times?.runDelayNanoseconds else { return nil }
        // The earliest reading in the stall.
        var (seen, then) = (begin.after.time, begin.after.runDelay)
        if then == nil, let first { (seen, then) = (first.reading.time, first.times?.runDelayNanoseconds) }
        guard let then else { return nil }
        let unseen = seen.saturatingDifference(since)
        seen = last.reading.time - seen
        let scaled = Self.scaled(now.saturatingDifference(then), by: until.saturatingDifference(since), of: seen)
        guard let before = begin.before, before.time <= since, let earlier = before.runDelay else { return scaled }
        // A short part is weak evidence for a long one: then the total since the last reading before the stall is used.
        let most = now.saturatingDifference(earlier)
        return seen < unseen ? most : min(scaled, most)
    }

    /// The same for a stall that was over before a scan. It is used only if waiting for a processor certainly makes up most of
    /// it, wherever the rest is between the scans before and after it.
    private func unseenUsage(_ since: UInt64, _ until: UInt64, _ length: UInt64, _ last: Totals) -> ThreadUsage {
        var usage = ThreadUsage()
        guard let latest, latest.time <= since, let then = latest.runDelay, let now = last.times?.runDelayNanoseconds else {
            return usage
        }
        let outside = (since - latest.time).saturatingSum(last.reading.time.saturatingDifference(until))
        let waited = now.saturatingDifference(then)
        guard length > 0, waited.saturatingDifference(outside) >= length / 2 + length % 2 else { return usage }
        let delay = min(waited, length)
        let cpu = min(last.reading.cpu.saturatingDifference(latest.cpu), length - delay)
        usage.cpuNanoseconds = cpu
        usage.runDelayNanoseconds = delay
        usage.blockedNanoseconds = length - delay - cpu
        return usage
    }

    /// `value * part / whole`, without overflow.
    private static func scaled(_ value: UInt64, by part: UInt64, of whole: UInt64) -> UInt64 {
        guard whole > 0 else { return 0 }
        let product = value.multipliedFullWidth(by: part)
        guard product.high < whole else { return .max }
        return whole.dividingFullWidth(product).quotient
    }
}

/// What a thread used during a stall. Nil: not known.
package struct ThreadUsage: Sendable, Equatable {
    /// Time on a processor.
    package var cpuNanoseconds: UInt64?
    /// Time ready to run without a free processor.
    package var runDelayNanoseconds: UInt64?
    /// How much of that quotas took, at most.
    package var throttledNanoseconds: UInt64?
    /// The rest: asleep.
    package var blockedNanoseconds: UInt64?
    /// Time in the kernel, a part of the CPU time.
    package var systemNanoseconds: UInt64?
    /// Page faults without and with input, since the first sign of the stall.
    package var minorFaults: UInt64?
    package var majorFaults: UInt64?
    /// The duration of the stall by then.
    package var stallNanoseconds: UInt64 = 0

    package init() {}

    /// Empty if the stall continued after the last reading, for example because its thread is gone: what was measured shows why
    /// it stalled, but is not a share of the whole.
    package func ofStall(lasting length: UInt64) -> ThreadUsage { stallNanoseconds == length ? self : ThreadUsage() }

    /// Empty if the larger part of the stall came after the last reading: its beginning does not show why it lasted.
    package func ofMost(lasting length: UInt64) -> ThreadUsage { stallNanoseconds >= length / 2 ? self : ThreadUsage() }

    /// - Parameter throttled: what quotas took meanwhile: at most the time that this thread waited.
    mutating func attribute(throttled: UInt64?) {
        if let throttled, let delay = runDelayNanoseconds { throttledNanoseconds = min(throttled, delay) }
    }
}
