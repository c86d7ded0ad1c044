internal import CLagBeacon
internal import LagActivity

/// Whether what a loop's beacon reports as work keeps any work waiting.
extension Watch {
    /// What the examinations of a loop have found.
    struct Examination {
        /// The beacon's word of a stretch of work that is no stall, however long; `.max`: none.
        var quietWord: UInt64 = .max
        /// Whether that one is the loop's last.
        var isOver = false
        /// When a stretch began that was, or is, quiet.
        var quietCallout: UInt64 = 0
        var meter = PendingMeter()
        /// Of which stretch of work: the beacon's word.
        var word: UInt64 = .max
        /// When that was first found not to be quiet after it had been: a thread that rested, and works now, stalls at the earliest since then.
        var resumed: UInt64 = 0
        /// When that is to be examined again.
        var next: UInt64 = 0

        /// A thread that has been quiet for long is examined less often: after an eighth of that, within these bounds. Work that comes for it
        /// is noticed so much later.
        static let shortestQuietNanoseconds: UInt64 = 50_000_000
        static let longestQuietNanoseconds: UInt64 = 1_000_000_000
        /// And one that stalls: how long work has been pending is known to so much.
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
        // It may have gone on meanwhile: then this says nothing of that stretch.
        guard BeaconReading(hot.pointee.beacon).word == beacon.word else { return }
        cold.pointee.examination.meter.record(found.work, word: beacon.word, at: services.clock())
        let age = scan.now.saturatingDifference(beacon.calloutNanoseconds)
        if found.isQuiet {
            cold.pointee.examination.quietWord = beacon.word
            cold.pointee.examination.isOver = found.isOver
            cold.pointee.examination.quietCallout = beacon.calloutNanoseconds
            let longest = found.isResting ? Examination.shortestQuietNanoseconds : Examination.longestQuietNanoseconds
            let gap = min(max(age / 8, Examination.shortestQuietNanoseconds), longest)
            cold.pointee.examination.next = scan.now.saturatingSum(gap)
        } else {
            if cold.pointee.examination.quietWord == beacon.word { cold.pointee.examination.resumed = scan.now }
            cold.pointee.examination.quietWord = .max
            // Of what was quiet before, a moment's work is no stall: how long it lasts counts from then on.
            let resumed = cold.pointee.examination.resumed
            let stalling = resumed > 0 ? scan.now.saturatingDifference(resumed) : age
            let gap = min(max(stalling / 64, Examination.shortestNanoseconds), Examination.longestQuietNanoseconds)
            cold.pointee.examination.next = scan.now.saturatingSum(gap)
        }
    }

    /// How much waits in a queue that stalls, which says also whether anything does.
    func countWaiting(_ kind: StallKind, _ reading: BeaconReading, in episode: Episode) {
        guard let count = cold.pointee.queue?.countWaiting(), isStillStalled(kind, as: reading) else { return }
        episode.facts.jobsWaiting = max(episode.facts.jobsWaiting ?? 0, UInt64(count))
        var meter = episode.facts.pending ?? PendingMeter()
        meter.record(count > 0 ? .pending : .none, word: 0, at: services.clock())
        episode.facts.pending = meter
    }

    // MARK: Rests

    /// Whether the loop's beacon does not say when it rests.
    var countsSleeps: Bool { cold.pointee.waits != .rests }

    /// Whether a loop whose waits are no proof of a rest was awake when it was last observed, and has not rested since.
    var isAwakeBySleeps: Bool {
        countsSleeps && cold.pointee.detector.rules.starvationNanoseconds != nil
            && cold.pointee.rests.isAwake(sleeps: cold.pointee.examinable?.countSleeps())
    }

    /// Finds out whether a loop rests whose waits are no proof of it, for the rule that asks. Nil where they are, or no rule asks.
    func observeRests(_ reading: BeaconReading, at now: UInt64) -> Wakefulness? {
        guard countsSleeps, cold.pointee.detector.rules.starvationNanoseconds != nil else { return nil }
        let sleeps = cold.pointee.examinable?.countSleeps()
        let hasMoved = clb_beacon_word(hot.pointee.beacon) != reading.beaconWord
        return cold.pointee.rests.observe(reading, sleeps: sleeps, hasMoved: hasMoved, waits: cold.pointee.waits, at: now)
    }
}
