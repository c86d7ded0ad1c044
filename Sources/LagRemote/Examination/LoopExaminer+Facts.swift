internal import CLagLinux
internal import CLagRemote
internal import LagActivity

extension LoopExaminer {
    /// What was found with the lock, and what else must be looked up without it.
    struct Facts {
        fileprivate var rule: QuietRule
        fileprivate let object: WaitObject?
        fileprivate let reading: CallReading
        fileprivate let hasOneShotListeners: Bool
        /// False: it is not known now whether other threads fetch the events, or whether the thread is in a handler.
        let isKnown: Bool

        var examined: ExaminedCall? { reading.examined }
        /// ``LoopProof/sleeps``.
        var sleeps: UInt64? { reading.sleeps }
    }

    /// For the parameters see ``examine(limit:at:stretch:since:isProvisional:isYoung:isServing:isHandler:sharing:others:)``.
    func readFacts(
        limit: UInt64,
        at now: UInt64,
        stretch: UInt64,
        since begin: UInt64,
        isProvisional: Bool = false,
        isYoung: Bool = false,
        isServing: Bool = false,
        isForProof: Bool = false,
        _ sharing: (_ epoll: Int32) -> QuietRule.Sharing,
        _ state: inout State
    ) -> Facts {
        let isServed = state.object == nil && state.servedStretch == stretch
        if isServed { state.object = state.served }
        defer { if isServed { state.object = nil } }
        let work =
            state.object?.work(pidfd: process.descriptor, process: process.pid, tid: tid, signals: &state.signals)
            ?? WaitObject.Work(
                pending: .unknown,
                kind: state.isRing ? .loop : state.isRefused ? .unknown : .unseen,
                obstacle: state.isRing ? .descriptors : state.isRefused ? .refused : .unseen
            )
        // `g_main_dispatch` removes the descriptors of the source that it dispatches from the loop's wait, adds them again
        // afterwards, and writes to the loop's eventfd each time (GLib's `gmain.c`), so that a waiting thread polls again. Its
        // own thread finds that eventfd ready, although there is no work. A request of another thread looks the same.
        let isWakeUp = work.isWakeUp && state.libraries.has(.glib)
        let isBetween = work.kind == .gone && state.isMadeAnew
        // An event that is reported once, and came while the thread fetched nothing.
        let isNew = work.obstacle == .edge && stretch != 0 && state.idleStretch == stretch
        if work.pending == .none { state.idleStretch = stretch }
        let isHidden = isWakeUp || isBetween || mayHideWork(work, &state)
        let pending = isHidden ? .unknown : isNew ? .pending : work.pending
        // An exiting process closes its descriptors before its threads are gone: that does not make a stalled thread quiet.
        let isEnding = work.kind == .gone && cll_thread_is_ending(process.pid, tid) != 0
        let service = work.kind == .loop ? state.service.kind(of: state.object?.epoll, at: now) : nil
        let reading = readCall(
            limit: limit,
            in: stretch,
            isEnding: process.end.mayBeEnd(since: begin, at: now),
            isYoung: isYoung,
            isServing: isServing,
            isForProof: isForProof,
            mayHaveClient: pending != .none,
            at: now,
            &state
        )
        let kind = isEnding || isBetween ? .unknown : service ?? work.kind
        var rule = QuietRule(kind: kind, pending: pending, doing: reading.withoutClient)
        rule.isMainThread = tid == process.pid
        rule.isByStretch = isNew
        rule.isYoung = isYoung && state.object.map { $0.epoll == nil && !$0.isRing } == true
        rule.isProvisional = isProvisional && state.object?.epoll == nil
        rule.hasFetched =
            isForProof
            ? state.provedTurns.hasFetched(work.fetched, in: 0, at: now)
            : state.turns.hasFetched(work.fetched, in: stretch, at: now)
        var isSharingKnown = true
        if rule.isLoop, let epoll = state.object?.epoll {
            let found = self.sharing(of: epoll, isForProof: isForProof, sharing, &state, at: now)
            isSharingKnown = found != nil
            rule.sharing = found ?? .alone
            // Another thread may have fetched the event, and not read it yet.
            if isNew, rule.sharing != .alone { (rule.pending, rule.isByStretch) = (work.pending, false) }
        }
        let mayHoldListeners = rule.pending == .none && (rule.isProved || reading.withClient != rule.doing)
        return Facts(
            rule: rule,
            object: state.object,
            reading: reading,
            hasOneShotListeners: mayHoldListeners && state.service.hasOneShotListeners(of: state.object?.epoll, at: now),
            isKnown: isSharingKnown && reading.isKnown
        )
    }

    /// Call it without the lock, because the objects of other loops are under their locks.
    /// - Parameter isForAction: whether other threads that accept the loop's clients are searched.
    /// - Returns: the rule; whether it is known now if the ready events wait for this loop.
    func complete(
        _ facts: Facts,
        isForAction: Bool,
        at now: UInt64,
        _ others: () -> [Other]
    ) -> (rule: QuietRule, isKnown: Bool) {
        var rule = facts.rule
        let withClient = facts.reading.withClient
        if withClient != rule.doing, hasWaitingClient(at: facts.object) { rule.doing = withClient }
        guard rule.kind == .loop, let object = facts.object else { return (rule, true) }
        // A thread that has left its loop may have left such a socket as well.
        let held = facts.hasOneShotListeners && rule.isProved ? heldListeners(of: object) : nil
        if held != nil { rule.pending = .pending }
        let mayHang = isForAction && (rule.isProved || rule.pending == .pending)
        let hasAcceptor = mayHang ? hasOtherAcceptor(of: object, at: now) : false
        guard rule.pending == .pending else { return (rule, true) }
        rule.pending = work(at: object, held: held, besides: others(), at: now)
        // What is not known decides only for a loop that is watched from outside: the others have published more.
        if rule.pending == .pending, hasAcceptor == true || hasAcceptor == nil && !isClaimed {
            switch object.hasOnlyClients(pidfd: process.descriptor, process: process.pid) {
            case true?: rule.pending = hasAcceptor == true ? .none : .unknown
            case nil: rule.pending = .unknown
            case false?: break
            }
        }
        rule.hasClientWork = object.hasClientWork(pidfd: process.descriptor, process: process.pid)
        return (rule, rule.pending != .unknown)
    }

    private func heldListeners(of object: WaitObject) -> WaitObject? {
        object.epoll.flatMap { WaitObject.heldListeners(of: $0, pidfd: process.descriptor, process: process.pid) }
    }
}
