internal import CLagBeacon
internal import LagActivity
internal import LagModel

/// Whether the work that a loop's beacon reports keeps other work waiting.
extension Watch {
    /// The results of a loop's examinations.
    struct Examination {
        /// The beacon's word of a stretch of work that is not a stall, however long; `.max`: none.
        var quietWord: UInt64 = .max
        /// Whether that stretch is the loop's last.
        var isOver = false
        /// Whether it is if its process exits next.
        var mayBeOver = false
        /// The beginning of a stretch that was, or is, quiet.
        var quietCallout: UInt64 = 0
        var meter = PendingMeter()
        /// The beacon's word of the examined stretch of work.
        var word: UInt64 = .max
        /// When it was first found not to be quiet after it had been: a thread that was idle and works now stalls from this time
        /// at the earliest.
        var resumed: UInt64 = 0
        /// When it is to be examined again.
        var next: UInt64 = 0

        /// A thread that has been quiet for long is examined less often: after an eighth of that time, within these bounds. Work
        /// that arrives for it is noticed with that delay.
        static let shortestQuietNanoseconds: UInt64 = 50_000_000
        static let longestQuietNanoseconds: UInt64 = 1_000_000_000
        /// The same for a thread that stalls: it is the precision of how long work has been pending.
        static let shortestNanoseconds: UInt64 = 10_000_000
    }

    /// Examines a loop that is at the same work as at the last visit, if it is time.
    func examine(_ scan: ScanState) {
        guard let loop = cold.pointee.examinable else { return }
        let beacon = BeaconReading(hot.pointee.beacon)
        guard beacon.isWorking else {
            if beacon.activity == .waiting {
                loop.recordRest(at: scan.now)
                recordLoopStack(beacon, at: scan.now)
            }
            return
        }
        guard beacon.word == hot.pointee.lastWord else { return }
        let isSame = beacon.word == cold.pointee.examination.word
        guard !isSame || scan.now >= cold.pointee.examination.next else { return }
        cold.pointee.examination.word = beacon.word
        if !isSame { cold.pointee.examination.resumed = 0 }
        let found = loop.examine(at: scan.now) { isHandler(waitingInto: $0) }
        // It may have continued meanwhile: then the result does not apply to that stretch.
        guard BeaconReading(hot.pointee.beacon).word == beacon.word else { return }
        cold.pointee.examination.meter.record(found.work, word: beacon.word, at: services.clock())
        let age = scan.now.saturatingDifference(beacon.calloutNanoseconds)
        if found.isQuiet {
            cold.pointee.examination.quietWord = beacon.word
            cold.pointee.examination.isOver = found.isOver
            cold.pointee.examination.mayBeOver = found.mayBeOver
            cold.pointee.examination.quietCallout = beacon.calloutNanoseconds
            let longest = found.isResting ? Examination.shortestQuietNanoseconds : Examination.longestQuietNanoseconds
            let gap = min(max(age / 8, Examination.shortestQuietNanoseconds), longest)
            cold.pointee.examination.next = scan.now.saturatingSum(gap)
        } else {
            if cold.pointee.examination.quietWord == beacon.word { cold.pointee.examination.resumed = scan.now }
            cold.pointee.examination.quietWord = .max
            // After a quiet time, a moment's work is not a stall: its duration counts from then on.
            let resumed = cold.pointee.examination.resumed
            let stalling = resumed > 0 ? scan.now.saturatingDifference(resumed) : age
            let gap = min(max(stalling / 64, Examination.shortestNanoseconds), Examination.longestQuietNanoseconds)
            cold.pointee.examination.next = scan.now.saturatingSum(gap)
        }
    }

    /// How much waits in a stalled queue, which also shows whether anything does.
    func countWaiting(_ kind: StallKind, _ reading: BeaconReading, in episode: Episode) {
        guard let count = cold.pointee.queue?.countWaiting(), isStillStalled(kind, as: reading) else { return }
        episode.facts.jobsWaiting = max(episode.facts.jobsWaiting ?? 0, UInt64(count))
        var meter = episode.facts.pending ?? PendingMeter()
        meter.record(count > 0 ? .pending : .none, word: 0, at: services.clock())
        episode.facts.pending = meter
    }

    // MARK: Rests

    /// Whether the loop's beacon does not show when it is idle.
    var countsSleeps: Bool { cold.pointee.waits != .rests }

    /// For a loop whose waits do not prove that it was idle: whether it was awake when it was last observed, and has not been
    /// idle since.
    var isAwakeBySleeps: Bool {
        countsSleeps && cold.pointee.detector.rules.starvationNanoseconds != nil
            && cold.pointee.rests.isAwake(sleeps: cold.pointee.examinable?.countSleeps())
    }

    /// For a loop whose waits do not prove that it was idle: finds out whether it was, if a rule needs it. Nil if the waits prove
    /// it, or no rule needs it.
    func observeRests(_ reading: BeaconReading, at now: UInt64) -> BusyTime? {
        guard countsSleeps, cold.pointee.detector.rules.starvationNanoseconds != nil else { return nil }
        let sleeps = cold.pointee.examinable?.countSleeps()
        let hasMoved = clb_beacon_word(hot.pointee.beacon) != reading.beaconWord
        return cold.pointee.rests.observe(reading, sleeps: sleeps, hasMoved: hasMoved, waits: cold.pointee.waits, at: now)
    }
}
