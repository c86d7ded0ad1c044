internal import CLagBeacon
internal import CLagLinux
internal import CLagRemote
internal import Glibc
package import LagActivity
internal import LagDetection
internal import LagMonitor
internal import Synchronization

/// A loop of another process, watched from outside: its beacon publishes what samples of its thread have found.
// Unchecked: the beacon, the identity and the name are immutable; only the watchdog's thread uses the rest (``KernelSampler``).
package final class AttachedLoop: ForeignLoop, SampledLoop, @unchecked Sendable {
    package let beacon = ActivityBeacon()
    package let thread: ThreadIdentity
    package let name: String
    private let semaphore: WakeSemaphore
    let examiner: LoopExaminer
    /// The loop's last waiting place, for threads other than the watchdog's.
    private let waitStackPointer = Atomic<UInt64>(0)
    private let quiet = Atomic<Bool>(false)
    private var files: clr_thread_files
    private var finder: IterationDetector
    private var waitReturn: WaitReturn
    private var iterationProbe: IterationProbe
    private var recorder: SwitchRecorder
    private var calm = WakeRateMeter()
    package private(set) var sampledStretches = SampledStretches()
    private var results = WaitResults()
    /// The program of the process when the loop was found.
    private var image: ProgramImage?
    private var samplesAtWork = 0
    private static let samplesPerImageCheck = 4
    private var (isOver, end) = (false, ThreadEnd())
    /// The previous sample.
    private var last: (nanoseconds: UInt64, wasAsleep: Bool) = (0, false)
    /// The beacon's word of work that was found to keep other work waiting: recorded even if it ends before the rules check it.
    private var busyWord: UInt64 = .max
    /// The stretch of work that a sample has examined.
    private var examinedWord: UInt64 = .max
    private let hold: UInt64
    private var restsInARow = 0
    /// A second without doubt.
    private static let restsToClose = 50
    /// Since when its iterations would have been seen, while it is watched for them.
    private var watchedNanoseconds: UInt64 = 0
    private let coverage = TurnCoverage()
    let confirmation = RestConfirmation()
    let candidacy: Candidacy

    /// - Parameters:
    ///   - files: owned by this object from now on.
    ///   - semaphore: woken by the beacon.
    ///   - hold: a thread whose stretch of work is this long may be stopped (``IterationDetector``).
    ///   - mayCount: see ``IterationProbe``.
    init(
        _ thread: ThreadIdentity,
        at place: RestPlace,
        files: clr_thread_files,
        semaphore: WakeSemaphore,
        hold: UInt64,
        mayCount: Bool,
        examiner: LoopExaminer,
        candidacy: Candidacy
    ) {
        (self.examiner, self.candidacy) = (examiner, candidacy)
        waitStackPointer.store(place.stackPointer, ordering: .relaxed)
        self.thread = thread
        name = ThreadName.ofLoop(on: thread.tid, of: thread.process)
        self.files = files
        self.semaphore = semaphore
        image = ProgramImage(of: thread.process)
        finder = IterationDetector(place: place, hold: hold)
        waitReturn = WaitReturn(process: thread.process)
        iterationProbe = IterationProbe(process: thread.process, tid: thread.tid, mayCount: mayCount)
        recorder = SwitchRecorder(tid: thread.tid)
        self.hold = hold
        epoll = place.epoll
        semaphore.attach(beacon)
    }

    deinit { clr_thread_files_close(&files) }

    /// The epoll instance on which it was found waiting; nil: it waits in another way.
    let epoll: Int32?

    /// Samples, publishes. Some 4 µs, 50 more if it stops the thread, plus an examination (``LoopExaminer``) of new lasting work.
    /// - Returns: whether it has moved since the last sample; false: it sleeps in the same rest, or it is over.
    func sample(at now: UInt64) -> Bool {
        guard !isOver else { return false }
        var found = clr_thread_sample()
        switch clr_thread_files_sample(&files, &found) {
        case 0 where hasLeft(found, at: now):
            finish()
            return true
        case 0: break
        // For an exited thread that was not waited for, the kernel reports that access is not permitted.
        case let error where error == ESRCH || !isLive:
            if !end.isInProgress(of: examiner.process, at: now) { finish() }
            return true
        // The sample is currently not available: no free descriptor, or no permission any more.
        default:
            if finder.isAtWork {
                sampledStretches.end(at: TimeBounds(last.nanoseconds, likely: now, now))
                beacon.publish(.notRunning)
            }
            finder.forget()
            confirmation.interrupt()
            return true
        }
        let observation = ThreadObservation(found)
        if let place = observation.place, waitReturn.isLoops(place, at: finder.place) {
            finder.follow(place)
            confirmation.restart()
        }
        let isInner = observation.place.map { waitReturn.isHandlers($0, at: finder.place) } ?? false
        let isAsleep = if case .blocked = observation.doing { true } else { false }
        // The thread was sampled between `now` and this time.
        let seen = clb_now_ns()
        let trace = recorder.take(
            sampled: now,
            until: seen,
            wasAsleep: last.wasAsleep,
            isAsleep: isAsleep,
            stamps: iterationProbe.stamps,
            of: finder.place
        )
        let isStamped = iterationProbe.stamps != .none
        let wasWatched = iterationProbe.isWatching
        let isContinuous = iterationProbe.isLight
        let outcome = iterationProbe.poll()
        let wasAtWork = finder.isAtWork
        publish(finder.observe(observation, at: now, seen: seen, isHandlers: isInner, withHeld(outcome, trace, at: now)))
        let hasSlept = isAsleep && last.wasAsleep && !finder.hasMoved
        let isCovered =
            wasWatched
            && TurnCoverage.isCovered(since: last.nanoseconds, by: watchedNanoseconds, isContinuous: isContinuous)
        coverage.record(outcome == .refused && !hasSlept ? nil : isCovered && outcome == .nothing || hasSlept, at: seen)
        if wasAtWork, finder.isAtWork {
            // The count includes the waits of handlers. If timestamps were lost in a full ring, it is more reliable.
            if isStamped, let trace, trace.firstPass != nil || trace.hasLastPass {
                publish(finder.recordPasses(trace, since: last.nanoseconds, seen: seen))
            } else {
                recordIteration(outcome, until: clb_now_ns())
            }
            // It may have iterated before it was watched for that.
            if finder.hasMoved, !wasWatched || watchedNanoseconds > last.nanoseconds {
                finder.recordUnwatched(until: wasWatched ? watchedNanoseconds : seen)
            }
            sampledStretches.refine(finder.began, mayHaveBegun: finder.mayHaveBegun, gap: coverage.lastGap)
        }
        // It may be over by the next sample.
        let word = clb_beacon_word(beacon.raw)
        if finder.isAtWork, examinedWord != word, finder.isInDoubt(at: now) {
            examinedWord = word
            examiner.process.recordHandledSignals()
            recordExamination(examiner.examine(limit: limit, at: now, stretch: word, since: clb_beacon_callout_ns(beacon.raw)))
        }
        last = (now, isAsleep)
        if finder.isAtWork {
            if isAsleep { examiner.recordCall(found.call) }
            results.read(of: thread.process, at: now)
            samplesAtWork += 1
            if quiet.load(ordering: .relaxed) { recorder.record(false) }
            // A working thread may be about to exec another program, which rests elsewhere.
            if samplesAtWork % Self.samplesPerImageCheck == 0, !isSameImage { finish() }
        } else {
            confirmation.recordRest(runs: observation.runs, at: now)
            candidacy.recordRest(runs: observation.runs, at: now)
            restRecording(observation, at: now, wasAtWork: wasAtWork)
            waitReturn.record(finder.place, at: observation.place)
            results.record(&found.call)
            waitStackPointer.store(found.call.sp, ordering: .relaxed)
            examiner.recordRest(found.call, at: now, isUnmoved: !finder.hasMoved)
            if examiner.readsCalls { finder.recordInterpreter() }
            quiet.store(false, ordering: .relaxed)
        }
        return wasAtWork || finder.isAtWork || finder.hasMoved
    }

    /// Selects what is recorded of a resting loop: if seldom woken, all switches, to know when its next stretch of work begins.
    private func restRecording(_ observation: ThreadObservation, at now: UInt64, wasAtWork: Bool) {
        iterationProbe.end()
        calm.recordRest(runs: observation.runs, at: now)
        recorder.forgetOverrun()
        recorder.record(calm.isCalm)
        restsInARow = wasAtWork || calm.isCalm ? 0 : restsInARow + 1
        guard restsInARow == Self.restsToClose else { return }
        iterationProbe.close()
        recorder.close()
    }

    /// Whether it rests, is seldom woken, and the beginning of its next stretch of work will be recorded.
    var isCalmlyResting: Bool { isOver || !finder.isAtWork && calm.isCalm && recorder.isRecording }

    /// Whether it must be sampled at short intervals.
    var isAtWork: Bool { finder.isAtWork && !isOver && !quiet.load(ordering: .relaxed) }

    /// Samples have already done that.
    package func recordRest(at now: UInt64) {}

    package func examine(at now: UInt64) -> LoopExamination { examine(at: now) { _ in false } }

    package func examine(at now: UInt64, isHandler: (_ events: UInt64?) -> Bool) -> LoopExamination {
        let word = clb_beacon_word(beacon.raw)
        let found = examiner.examine(
            limit: limit,
            at: now,
            stretch: word,
            since: clb_beacon_callout_ns(beacon.raw),
            isHandler: isHandler
        )
        // It may have come to rest since the sample: then its state shows the end of a stretch of work, not the work itself.
        if found.isQuiet { _ = sample(at: clb_now_ns()) }
        guard clb_beacon_word(beacon.raw) == word else { return LoopExamination(work: found.work) }
        recordExamination(found)
        quiet.store(found.isQuiet, ordering: .relaxed)
        return found
    }

    private func recordExamination(_ found: LoopExamination) { busyWord = found.isQuiet ? .max : clb_beacon_word(beacon.raw) }

    package var quietWord: UInt64 { quiet.load(ordering: .relaxed) ? clb_beacon_word(beacon.raw) : .max }

    package func proof(at now: UInt64) -> LoopProof? {
        guard let isComplete = coverage.isComplete(at: now) else { return nil }
        guard isComplete else { return LoopProof(isLoop: false, isWorkPending: false) }
        return examiner.proof(
            limit: limit,
            at: now,
            stretch: clb_beacon_word(beacon.raw),
            isYoung: confirmation.isYoung(wokenAt: clb_beacon_woke_ns(beacon.raw)),
            // What its sibling processes do is not known here: a socket that its parent has as well may be shared with them.
            others: { ProcFile.parent(of: thread.process).map { [.process($0)] } ?? [] }
        )
    }

    package var waitsForTimeAlone: Bool { examiner.waitsForTimeAlone }
    package var waits: PublishedWaits { .samples }
    package func hasExited(since begin: UInt64) -> Bool { examiner.process.hasExited(since: begin, at: clb_now_ns()) }

    /// Not known if the thread is stopped to see whether it iterates, because each stop counts as a sleep.
    package func countSleeps() -> UInt64? { iterationProbe.isLight ? thread.sleeps : nil }

    /// Two calls from one function differ by the stack that the C library's functions around them use.
    private var limit: UInt64 { waitStackPointer.load(ordering: .relaxed).saturatingSum(RestPlace.callBytes) }

    private func finish() {
        isOver = true
        iterationProbe.end()
        end.end(&sampledStretches, after: last.nanoseconds)
        beacon.publish(.finished)
    }

    private var isLive: Bool { cll_thread_is_ending(thread.process, thread.tid) == 0 }
    private var isSameImage: Bool { ProgramImage.isSame(&image, in: thread.process) }

    /// Starts counting the loop's iterations until the next sample, if in doubt. Takes some µs then.
    func probeIterations(at now: UInt64) {
        // Its exact end is needed from here on.
        recorder.record(calm.isCalm || finder.isOlder(than: hold / 2, at: now))
        guard
            iterationProbe.isLight
                ? finder.isInDoubt(at: now)
                : finder.mayBeHeld(at: now, isForProof: coverage.isWanted && !iterationProbe.makesManyCalls)
        else { return iterationProbe.end() }
        if iterationProbe.begin(at: finder.place, &recorder) { watchedNanoseconds = clb_now_ns() }
    }

    /// The trace with the pass that was seen while the thread was traced.
    private func withHeld(_ outcome: IterationProbe.Outcome, _ trace: SwitchTrace?, at now: UInt64) -> SwitchTrace? {
        guard case .iteration(let time?) = outcome else { return trace }
        return SwitchTrace(heldPassAt: time, wasAsleep: last.wasAsleep, sampled: now)
    }

    private func recordIteration(_ outcome: IterationProbe.Outcome, until now: UInt64) {
        switch outcome {
        case .nothing, .refused: break
        case .iteration(let time): publish(finder.recordIteration(at: time, after: last.nanoseconds, before: now))
        case .tooManyCalls:
            publish(finder.recordIteration(at: nil, after: results.sameNanoseconds, before: results.changedNanoseconds))
        }
    }

    private func publish(_ step: IterationDetector.Step) {
        switch step {
        case .nothing: break
        case .rest:
            sampledStretches.end(at: finder.ended)
            if clb_beacon_word(beacon.raw) == busyWord { beacon.begin(.beforeWaiting, at: finder.ended.likely) }
            beacon.publish(.waiting)
        case .wake(let time):
            beacon.wake(.afterWaiting, at: time)
            sampledStretches.begin(word: clb_beacon_word(beacon.raw), at: finder.began)
        case .iteration(let time):
            sampledStretches.end(at: finder.ended)
            beacon.begin(.afterWaiting, at: time)
            sampledStretches.begin(word: clb_beacon_word(beacon.raw), at: finder.began)
        }
    }
}
