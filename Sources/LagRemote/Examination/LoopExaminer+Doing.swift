internal import CLagLinux
internal import CLagRemote
internal import Synchronization

extension LoopExaminer {
    /// The kernel leaves this much free below the first stack, unless that has no limit (`mmap_base`, arch/x86/mm/mmap.c).
    private static let stackBytes: UInt64 = 128 << 20

    /// A call in which the thread sleeps, in a stretch of work, and what shows that it is in a handler. While it is the same, the
    /// thread has not left its handler. (After that it may sleep again in the same stretch, further out: a server that ends waits
    /// for its threads.)
    struct ExaminedCall {
        /// What shows it beyond doubt.
        enum Evidence {
            /// The calls of its language, or those on its stack.
            case calls
            /// A loop in its language's code.
            case code
        }

        let call: cll_thread_syscall
        let stretch: UInt64
        /// Of the calls of its language (``CallChain/check``), which are not on the C stack; 0: none.
        let calls: UInt64
        /// Whether those show a handler; not certain enough for an action.
        var isHandler = false
        /// Whether the code of its language shows it; nil: not looked up.
        var isInLoop: Bool?
        var evidence: Evidence?

        /// Whether it is the same call, whatever the calls of its language are.
        func isCall(_ other: cll_thread_syscall, in stretch: UInt64) -> Bool {
            stretch == self.stretch && (other.number, other.sp, other.pc) == (call.number, call.sp, call.pc)
        }
    }

    /// What the thread's present call shows. What it means depends on whether a client waits to be accepted at the loop's object,
    /// which must be looked up without the lock.
    struct CallReading {
        fileprivate var doing: QuietRule.Doing
        /// It waits for an object of loops, and its assumed loop may have been a start: its place decides nothing.
        fileprivate var mayBeOutside = false
        /// What has shown that it is in a handler; for proofs.
        fileprivate var evidence: ExaminedCall.Evidence?
        /// False: that cannot be read now.
        fileprivate(set) var isKnown = true
        /// How often the thread has slept, if only its language's code has shown it.
        fileprivate(set) var sleeps: UInt64?
        /// What was found out about the call; nil: nothing. Not for proofs.
        fileprivate(set) var examined: ExaminedCall?

        var withoutClient: QuietRule.Doing { mayBeOutside ? .waitingElsewhere : doing }

        /// A finished start leaves no such client behind.
        var withClient: QuietRule.Doing {
            evidence != nil && doing == .waiting(isFurtherOut: true) ? .waiting(isFurtherOut: false) : doing
        }
    }

    /// Reads what the thread does now.
    /// - Parameter mayHaveClient: false: nothing is ready at the loop's object, so a set of poll or select has no client.
    func readCall(
        limit: UInt64,
        in stretch: UInt64,
        isEnding: Bool,
        isYoung: Bool,
        isServing: Bool,
        isForProof: Bool,
        mayHaveClient: Bool,
        at now: UInt64,
        _ state: inout State
    ) -> CallReading {
        let object = state.object
        var call = cll_thread_syscall()
        guard cll_procfs_syscall(process.pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED), call.number >= 0 else {
            return CallReading(doing: .working)
        }
        resolve(&call, &state)
        let found = call
        var examined: ExaminedCall?
        func isInHandler(_ state: inout State) -> Bool {
            examined = examine(found, in: stretch, mayHaveClient: mayHaveClient, &state)
            if let examined { return examined.isHandler }
            // A thread that keeps running is where it was, or where its process reports.
            guard state.readCalls != nil else { return false }
            return isServing || state.examined.map { $0.isHandler && $0.stretch == stretch } == true
        }
        if clr_wait_kind(call.number) != 0, object?.isWaited(in: &call, of: process.pid) == true {
            return CallReading(doing: .waitingForAll)
        }
        if isElsewhere(&call, isForProof: isForProof, at: now, &state) { return CallReading(doing: .waitingElsewhere) }
        // An instance identifies its loop, however young. And a thread in a handler that waits only for objects of its own loop
        // is not in another loop: a `sleep` of Ruby's main thread polls an eventfd of the loop. For an action, it is enough that
        // a client waits.
        let isYoungSet = isYoung && object != nil && object?.epoll == nil && isLoops(call)
        if isYoungSet, !isForProof {
            let isWithin = isInHandler(&state) && !isLoops(call, besides: object)
            return CallReading(doing: isWithin ? .waiting(isFurtherOut: false) : .waitingElsewhere, examined: examined)
        }
        let doing: QuietRule.Doing =
            switch Int(clr_call_use(process.pid, &call)) {
            case CLR_CALL_RESTS where isEnding && clr_awaits_own(&call) != 0: .ending
            case CLR_CALL_RESTS
            where object?.epoll != nil && state.libraries.has(.javaMachine)
                && state.service.hasNoChannel(of: object?.epoll, at: now):
                .waitingElsewhere
            // For CPython, Ruby, Perl or PHP, the language's calls are enough for a line. For an action, the C stack must show
            // the same, or the calls of either if a client waits to be accepted.
            case CLR_CALL_RESTS where isForProof: .waiting(isFurtherOut: call.sp > limit)
            case CLR_CALL_RESTS:
                .waiting(
                    isFurtherOut: call.sp > limit && isOnFirstStack(limit, &state)
                        && !isInHandler(&state)
                )
            case CLR_CALL_SLEEPS: object == nil && state.pause.isHandler(call.sp) ? .working : .sleeping
            default: .working
            }
        var reading = CallReading(doing: doing, mayBeOutside: isYoungSet, examined: examined)
        if isForProof, doing == .waiting(isFurtherOut: true) { compare(call, in: stretch, with: &state, &reading) }
        return reading
    }

    /// Whether the thread still sleeps in the call that was shown to be in a handler.
    private func compare(
        _ call: cll_thread_syscall,
        in stretch: UInt64,
        with state: inout State,
        _ reading: inout CallReading
    ) {
        guard let known = state.examined, known.evidence != nil, known.isCall(call, in: stretch) else { return }
        let check = checkOfCalls(&state)
        guard isAsleep(in: call), check == nil || check == known.calls else { return }
        // A handler that waits again and again may do so on purpose: a server with as many clients as it takes.
        if known.evidence == .code { reading.sleeps = runs() }
        reading.isKnown = check != nil && (known.evidence == .calls || reading.sleeps != nil)
        reading.evidence = known.evidence
    }

    /// 0: the thread's language has no such calls; nil: not known now.
    private func checkOfCalls(_ state: inout State) -> UInt64? {
        state.readCalls == nil ? 0 : state.calls.read()?.check
    }

    /// Changes when the thread goes to sleep, except for stops by lagmond itself, of which the kernel counts two sleeps each.
    private func runs() -> UInt64? {
        let stops = clr_stops(tid)
        var status = cll_thread_status()
        guard cll_procfs_status(process.pid, tid, &status) == 0, clr_stops(tid) == stops else { return nil }
        return status.voluntary_switches &- 2 &* stops
    }

    /// Whether the call itself shows a rest outside of the loop's wait, wherever in the stack it is.
    private func isElsewhere(_ call: inout cll_thread_syscall, isForProof: Bool, at now: UInt64, _ state: inout State) -> Bool {
        let object = state.object
        if object?.asksUser(in: &call, of: process.pid) == true { return true }
        // Servers with several processes pass the right to wait for connections from one to the next.
        if clr_waits_among_processes(process.pid, &call) != 0, state.service.hasNoClient(of: object, at: now) { return true }
        // A process that serves one client after the other, like each process of a preforking server: only the client that it
        // waits for waits for it.
        guard !isForProof, let object else { return false }
        return state.service.awaitsClient(of: object, in: &call, at: now) || object.isAccepted(in: &call, process: process.pid)
    }

    /// Whether the thread is in a handler although it sleeps above the limit, by its call stack (`isHandler`): the wait itself
    /// may use more stack than all of a handler. Some 50 µs if it must be read.
    /// - Parameter examined: what the calls of its language have just shown.
    func isHandlerByCalls(
        _ facts: QuietRule,
        _ examined: inout ExaminedCall?,
        _ isHandler: (_ events: UInt64?) -> Bool
    ) -> Bool {
        guard facts.isPendingElsewhere || facts.isQuietByPlace else { return false }
        let (isShared, events) = state.withLock { ($0.sharedNanoseconds != nil, $0.events) }
        // While work is pending it is a stall at any place; then only an action needs it.
        guard facts.isQuietByPlace || examined?.evidence == nil, !isShared else { return false }
        let isFound = isHandler(events)
        // The stack is that of this call if the thread has slept in it all the time.
        if isFound, let call = examined?.call, isAsleep(in: call) {
            examined?.evidence = .calls
        } else if examined?.evidence == .calls {
            examined?.evidence = nil
        }
        return isFound
    }

    /// Whether the main thread waits on the stack that the kernel gave it. On other stacks (GNU Pth and other coroutine
    /// libraries) it cannot be seen which of two calls is further out. Other threads are assumed to be on their own stack.
    private func isOnFirstStack(_ stackPointer: UInt64, _ state: inout State) -> Bool {
        guard tid == process.pid else { return true }
        if state.firstStack == nil {
            var begin: UInt64 = 0
            state.firstStack = cll_procfs_image(process.pid, &begin) == 0 ? begin : 0
        }
        guard let begin = state.firstStack, begin > 0, stackPointer != .max else { return true }
        return stackPointer <= begin &+ Self.stackBytes && begin <= stackPointer &+ Self.stackBytes
    }

    /// What the calls of its language show about a thread that sleeps in this call, or has continued to another one; without such
    /// calls, the C stack shows where it is.
    /// - Parameters:
    ///   - stretch: the work since its loop's last wait, in which it does not return from a handler.
    ///   - mayHaveClient: false: its code is not looked up.
    /// - Returns: nil: nothing, because it keeps running, or its calls cannot be read now.
    private func examine(
        _ call: cll_thread_syscall,
        in stretch: UInt64,
        mayHaveClient: Bool,
        _ state: inout State
    ) -> ExaminedCall? {
        guard let rest = state.readCalls else { return examinedCall(call, in: stretch, calls: 0, state) }
        var call = call
        for _ in 0..<Self.mostReadings {
            let calls = state.calls.read()
            let isUnmoved = isAsleep(in: call)
            if let calls, isUnmoved {
                var found = examinedCall(call, in: stretch, calls: calls.check, state)
                found.isHandler = calls.isHandler(of: rest)
                if calls.isCertainlyHandler(of: rest) {
                    found.evidence = .calls
                } else if mayHaveClient, found.evidence == nil {
                    lookUpCode(calls, of: rest, &found, &state)
                }
                return found
            }
            if isUnmoved { break }
            // It has continued meanwhile, perhaps to the next of many short waits of one handler, which counts as lasting until
            // an examination contradicts.
            guard cll_procfs_syscall(process.pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED), call.number >= 0 else { break }
        }
        return nil
    }

    /// With what is known about that call.
    private func examinedCall(_ call: cll_thread_syscall, in stretch: UInt64, calls: UInt64, _ state: State) -> ExaminedCall {
        if let known = state.examined, known.isCall(call, in: stretch), known.calls == calls { return known }
        return ExaminedCall(call: call, stretch: stretch, calls: calls)
    }

    /// Whether the code of the thread's language shows it in a handler. Looked up once for each call: half a millisecond at most.
    ///
    /// Only for a wait by `select`: others need little of the C stack, which shows their handlers, and most of the loops that are
    /// not in the language's code but in a C library's wait by `poll` or epoll.
    private func lookUpCode(_ now: CallChain, of rest: CallChain, _ found: inout ExaminedCall, _ state: inout State) {
        guard Int(clr_wait_kind(state.readCall.number)) == CLR_WAIT_SELECT else { return }
        if found.isInLoop == nil { found.isInLoop = state.calls.isInLoop(now, of: rest) }
        if found.isInLoop == true, isAsleep(in: found.call) { found.evidence = .code }
    }

    /// Whether the kernel has shown the thread in its wait, and it now sleeps deeper in the stack in another kind of call.
    func isSeen() -> Bool {
        var call = cll_thread_syscall()
        guard cll_procfs_syscall(process.pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED), clr_wait_kind(call.number) == 0 else {
            return false
        }
        return tryState { state in
            state.object != nil && state.object?.epoll == state.seenEpoll && call.sp < state.readCall.sp
        } ?? false
    }

    /// Whether the thread still sleeps in a call that was found before: then the memory of its arguments is what the kernel uses.
    func isAsleep(in call: cll_thread_syscall) -> Bool {
        var (now, before) = (cll_thread_syscall(), call)
        guard cll_procfs_syscall(process.pid, tid, &now) == Int32(CLL_SYSCALL_BLOCKED) else { return false }
        clr_restarted(&now, &before)
        return now.number == call.number && now.sp == call.sp && now.pc == call.pc && now.arguments.0 == call.arguments.0
            && now.arguments.1 == call.arguments.1
    }

    private static let mostReadings = 4

    /// Whether a thread that sleeps in this call waits for objects of loops, other than those of `known`.
    private func isLoops(_ call: cll_thread_syscall, besides known: WaitObject? = nil) -> Bool {
        var signals = WaitObject.SignalMembers()
        var other = WaitObject(process: process.pid, of: call)
        if let known { other = other?.subtracting(known) }
        return other?.work(pidfd: process.descriptor, process: process.pid, tid: tid, signals: &signals).kind == .loop
    }
}
