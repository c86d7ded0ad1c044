internal import CLagBeacon
package import LagActivity
internal import LagModel
internal import LagMonitor
internal import Synchronization

/// A loop of another process, found by its waits or published by the process's own monitor.
package final class RemoteLoop: ForeignLoop, CandidateLoop {
    package let beacon: ActivityBeacon
    package let thread: ThreadIdentity
    package let name: String
    let claim: UInt64
    /// Published by the process's own monitor.
    let isFromMonitor: Bool
    private let modes: [String]
    private let claimedNanoseconds: UInt64
    private let index: UInt32
    private let table: SharedLoopTable
    let examiner: LoopExaminer
    private let wasConfirmed = Atomic<Bool>(false)
    private let wasProved = Atomic<Bool>(false)
    private let wasReported = Atomic<Bool>(false)
    private let quiet = Atomic<UInt64>(.max)
    /// The beacon's word of the last stretch of work in doubt; `.max`: none.
    let doubtful = Atomic<UInt64>(.max)
    /// The beacon's word of the stretch of work in which a waiting client was found, and since when; `.max`: none. The
    /// watchdog's.
    private let servedWord = Atomic<UInt64>(.max)
    private let servedNanoseconds = Atomic<UInt64>(.max)

    /// How long another thread's last fetch counts: a thread that has fetched nothing for longer does not fetch for this one.
    private static let fetchNanoseconds: UInt64 = 250_000_000

    /// The same for a process that accepts connections: it may spend this long on one request.
    private static let acceptNanoseconds: UInt64 = 5_000_000_000

    /// If a client has waited this long, a loop's handler is delaying it, however few waits its thread has had. A start-up takes
    /// less time before its first accept.
    private static let confirmingNanoseconds: UInt64 = 1_000_000_000

    private static let startNanoseconds = UInt64(CLB_START_MS) * 1_000_000

    /// - Parameter process: the loop's process.
    init(
        _ loop: SharedLoopTable.Loop,
        _ owner: SharedLoopTable.Owner,
        _ process: ProcessHandle,
        in table: SharedLoopTable
    ) {
        index = loop.index
        self.table = table
        examiner = LoopExaminer(process, tid: loop.thread.thread, isDeclared: loop.isFromMonitor, isClaimed: true)
        beacon = ActivityBeacon(at: clb_loop_table_beacon(table.raw, loop.index), in: table)
        let stack = owner.stack
        thread = ThreadIdentity(tid: loop.thread.thread, process: loop.process, stackLow: stack.low, stackHigh: stack.high)
        name = !loop.name.isEmpty ? loop.name : ThreadName.ofLoop(on: loop.thread.thread, of: loop.process)
        claim = loop.claim
        isFromMonitor = loop.isFromMonitor
        modes = loop.modes
        claimedNanoseconds = loop.claimedNanoseconds
        table.record(self, at: index)
    }

    /// From its process, or from the kernel for a loop that keeps clients waiting. The first true answer stays, whatever is
    /// written later; query it before the slot is freed.
    package var isConfirmed: Bool {
        if isProved || wasConfirmed.load(ordering: .relaxed) { return true }
        guard table.isConfirmed(claim, at: index) else { return false }
        wasConfirmed.store(true, ordering: .relaxed)
        return true
    }

    package var mayCauseAction: Bool { isConfirmed }

    /// Whether the kernel has shown that it is a loop, whatever its process publishes.
    var isProved: Bool { wasProved.load(ordering: .relaxed) }

    /// Whether a stall of it was reported.
    var isReported: Bool { wasReported.load(ordering: .relaxed) }

    package func recordReport() { wasReported.store(true, ordering: .relaxed) }

    /// Nil for a mode that was created in the loop's process after the watch began, or whose name did not fit.
    package func modeName(_ number: UInt32) -> String? {
        guard let number = Int(exactly: number), modes.indices.contains(number - 1), !modes[number - 1].isEmpty else {
            return nil
        }
        return modes[number - 1]
    }

    package func recordRest(at now: UInt64) {
        let word = clb_beacon_word(beacon.raw)
        guard UInt8(truncatingIfNeeded: word) == LoopActivity.waiting.rawValue else { return }
        examiner.recordRest(word: word, at: now, isMadeAnew: table.waitPlace(at: index).isMadeAnew) {
            clb_beacon_word(beacon.raw) == word
        }
    }

    package func recordTurn() {
        // Other threads that were never seen in their wait mostly belong to pools (``QuietRule``).
        guard !isFromMonitor, thread.tid == thread.process, table.waitPlace(at: index).epoll == nil else { return }
        let word = clb_beacon_word(beacon.raw)
        examiner.recordTurn(word: word) { clb_beacon_word(beacon.raw) == word }
    }

    package func examine(at now: UInt64) -> LoopExamination { examine(at: now) { _ in false } }

    package func examine(at now: UInt64, isHandler: (_ events: UInt64?) -> Bool) -> LoopExamination {
        // Before the rest that would confirm it, because that ends the examined work.
        let isProvisional = !isConfirmed
        let word = clb_beacon_word(beacon.raw)
        let isServing = table.isServing(at: index)
        if isServing { examiner.recordService(stretch: word) }
        let place = table.waitPlace(at: index)
        if let epoll = place.epoll { examiner.record(epoll: epoll) }
        let found = examiner.examine(
            limit: place.stackPointer,
            at: now,
            stretch: word,
            since: clb_beacon_callout_ns(beacon.raw),
            isProvisional: isProvisional,
            isYoung: isYoung,
            isServing: isServing,
            isHandler: { !isShared && isHandler($0) },
            sharing: { sharing(of: $0, at: now) },
            others: { others(at: now) }
        )
        quiet.store(found.isQuiet ? word : .max, ordering: .relaxed)
        let isDoubtful = found.isDoubtful || found.keepsDoubt && doubtful.load(ordering: .relaxed) == word
        doubtful.store(isDoubtful ? word : .max, ordering: .relaxed)
        if isProvisional { confirm(by: found, word: word, at: now) }
        return found
    }

    /// A loop that hangs soon after its start does not return to its wait, which would prove that it is a loop.
    private func confirm(by found: LoopExamination, word: UInt64, at now: UInt64) {
        // Other pending events may be the program's own: a wake-up, a timer.
        guard !found.isQuiet, found.work == .pending, !isShared, examiner.hasWaitingClient else {
            return servedWord.store(.max, ordering: .relaxed)
        }
        if servedWord.load(ordering: .relaxed) != word {
            servedNanoseconds.store(now, ordering: .relaxed)
            servedWord.store(word, ordering: .relaxed)
        }
        guard now.saturatingDifference(servedNanoseconds.load(ordering: .relaxed)) >= Self.confirmingNanoseconds else { return }
        if proof(at: now, isForAction: false)?.isLoop == true { wasProved.store(true, ordering: .relaxed) }
    }

    /// Whether its latest stretch of work is in doubt.
    var isDoubtful: Bool {
        let (doubtful, word) = (doubtful.load(ordering: .relaxed), clb_beacon_word(beacon.raw))
        guard doubtful != .max, doubtful != word else { return doubtful == word }
        // It ended without another wait.
        return UInt8(truncatingIfNeeded: word) == LoopActivity.finished.rawValue && word >> 8 == (doubtful >> 8) &+ 1
    }

    /// If it has begun another stretch meanwhile, the time read here is that one's beginning.
    package func isDoubtful(at time: UInt64) -> Bool { isDoubtful && time >= clb_beacon_callout_ns(beacon.raw) }

    package var quietWord: UInt64 { quiet.load(ordering: .relaxed) }
    package var waitsForTimeAlone: Bool { examiner.waitsForTimeAlone }

    package func proof(at now: UInt64) -> LoopProof? { proof(at: now, isForAction: true) }

    private func proof(at now: UInt64, isForAction: Bool) -> LoopProof? {
        let place = table.waitPlace(at: index)
        return examiner.proof(
            limit: place.stackPointer,
            epoll: place.epoll,
            at: now,
            stretch: clb_beacon_word(beacon.raw),
            since: clb_beacon_callout_ns(beacon.raw),
            isYoung: isYoung,
            isForAction: isForAction,
            sharing: { sharing(of: $0, at: now) },
            others: { others(at: now) }
        )
    }

    private var isYoung: Bool {
        clb_beacon_woke_ns(beacon.raw) < claimedNanoseconds.addingReportingOverflow(Self.startNanoseconds).partialValue
    }

    /// At full load, threads that share an instance never sleep in their waits. Another thread that has returned from there since
    /// this one did, and recently, fetches the ready events.
    private func sharing(of epoll: Int32, at now: UInt64) -> QuietRule.Sharing {
        let since = max(clb_beacon_woke_ns(beacon.raw), now.saturatingDifference(Self.fetchNanoseconds))
        if table.hasFetcher(besides: index, from: epoll, since: since) { return .now }
        let lately = now.saturatingDifference(LoopExaminer.sharedNanoseconds)
        return table.hasFetcher(besides: index, from: epoll, since: lately) ? .lately : .alone
    }

    /// The loops of the command, of this process and others, that have returned from their waits since this one did, and
    /// recently.
    private func others(at now: UInt64) -> [LoopExaminer.Other] {
        let since = max(clb_beacon_woke_ns(beacon.raw), now.saturatingDifference(Self.acceptNanoseconds))
        return table.remoteLoops.filter { $0 !== self && clb_beacon_woke_ns($0.beacon.raw) >= since }.map { .loop($0.examiner) }
    }

    /// Whether another thread has ever returned from a wait on the same instance: then it is a pool, whose threads rest where its
    /// loop calls handlers.
    private var isShared: Bool {
        table.waitPlace(at: index).epoll.map { table.hasFetcher(besides: index, from: $0, since: 0) } ?? false
    }

    /// The preloaded library sees waits, but not rests.
    package var waits: PublishedWaits { isFromMonitor ? .rests : .turns }

    package func countSleeps() -> UInt64? { thread.sleeps }
}
