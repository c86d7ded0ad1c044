internal import CLagLinux
internal import CLagRemote
internal import Synchronization

extension LoopExaminer {
    /// The kernel leaves this much free below the first stack, unless that has no limit (`mmap_base`, arch/x86/mm/mmap.c).
    private static let stackBytes: UInt64 = 128 << 20

    /// A call in which the thread sleeps, in a stretch of work. While it is the same, the thread has not left its handler. (After
    /// that it may sleep again in the same stretch, further out: a server that ends waits for its threads.)
    struct HandlerCall: Equatable {
        private let stretch: UInt64
        private let number: Int64
        private let stackPointer: UInt64
        private let programCounter: UInt64
        /// Of the calls of its language (``CallChain/check``), which are not on the C stack; 0: none.
        let calls: UInt64

        /// Nil: the stretch is not known, or those calls are not.
        init?(_ call: cll_thread_syscall, in stretch: UInt64, calls: UInt64?) {
            guard stretch != 0, let calls else { return nil }
            (self.stretch, number, stackPointer, programCounter) = (stretch, Int64(call.number), call.sp, call.pc)
            self.calls = calls
        }
    }

    /// What the thread's present call shows. What it means depends on whether a client waits to be accepted at the loop's object,
    /// which must be looked up without the lock.
    struct CallReading {
        fileprivate var doing: QuietRule.Doing
        /// It waits for an object of loops, and its assumed loop may have been a start: its place decides nothing.
        fileprivate var mayBeOutside = false
        /// The calls on its stack, or those of its language, have shown that it is in a handler; nil: not known now.
        fileprivate(set) var isShownInHandler: Bool? = false

        var withoutClient: QuietRule.Doing { mayBeOutside ? .waitingElsewhere : doing }

        /// A finished start leaves no such client behind.
        var withClient: QuietRule.Doing {
            isShownInHandler == true && doing == .waiting(isFurtherOut: true) ? .waiting(isFurtherOut: false) : doing
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
        func isInHandler(_ state: inout State) -> Bool {
            self.isInHandler(found, in: stretch, isServing: isServing, mayHaveClient: mayHaveClient, &state)
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
            return CallReading(doing: isWithin ? .waiting(isFurtherOut: false) : .waitingElsewhere)
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
        let isShown = isForProof && doing == .waiting(isFurtherOut: true) ? isShownInHandler(call, in: stretch, &state) : false
        return CallReading(doing: doing, mayBeOutside: isYoungSet, isShownInHandler: isShown)
    }

    /// Nil: not known now.
    private func isShownInHandler(_ call: cll_thread_syscall, in stretch: UInt64, _ state: inout State) -> Bool? {
        guard let known = state.handlerCall, known == HandlerCall(call, in: stretch, calls: known.calls) else { return false }
        let check = checkOfCalls(&state)
        guard isAsleep(in: call) else { return false }
        guard let check else { return nil }
        guard known.calls == check else { return false }
        guard state.isShownByLoop else { return true }
        // A handler that waits again and again may do so on purpose: a server with as many clients as it takes.
        guard let runs = runs() else { return nil }
        defer { state.provedRuns = (known, runs) }
        guard let last = state.provedRuns else { return true }
        return last.call == known && last.runs == runs
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
    func isHandlerByCalls(_ facts: QuietRule, in stretch: UInt64, _ isHandler: (_ events: UInt64?) -> Bool) -> Bool {
        guard facts.isPendingElsewhere || facts.isQuietByPlace else { return false }
        let (isShared, events, known) = state.withLock { ($0.sharedNanoseconds != nil, $0.events, $0.handlerCall) }
        var call = cll_thread_syscall()
        let isBlocked = cll_procfs_syscall(process.pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED) && call.number >= 0
        let check: UInt64? =
            isBlocked
            ? state.withLock {
                resolve(&call, &$0)
                return checkOfCalls(&$0)
            } : nil
        // While work is pending it is a stall at any place; then only an action needs it.
        let present = isBlocked ? HandlerCall(call, in: stretch, calls: check) : nil
        let isKnown = known != nil && known == present
        guard facts.isQuietByPlace || !isKnown, !isShared else { return false }
        let isFound = isHandler(events)
        // The stack is that of this call if the thread has slept in it all the time.
        let shown = isFound && isBlocked && isAsleep(in: call) ? present : nil
        state.withLock { state in
            // What the calls of its language have just shown is not on the C stack.
            if shown == nil, let present, present.calls != 0, state.handlerCall == present { return }
            (state.handlerCall, state.isShownByLoop) = (shown, false)
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

    /// Whether a thread that sleeps in this call is in a handler, by the calls of its language; false: the C stack shows where it
    /// is.
    /// - Parameter stretch: the work since its loop's last wait, in which it does not return from a handler.
    private func isInHandler(
        _ call: cll_thread_syscall,
        in stretch: UInt64,
        isServing: Bool,
        mayHaveClient: Bool,
        _ state: inout State
    ) -> Bool {
        guard let rest = state.readCalls else { return false }
        var call = call
        for _ in 0..<Self.mostReadings {
            let calls = state.calls.read()
            let isUnmoved = isAsleep(in: call)
            if let calls, isUnmoved {
                let isHandler = calls.isHandler(of: rest)
                state.handlerStretch = isHandler ? stretch : nil
                let present = HandlerCall(call, in: stretch, calls: calls.check)
                let isCertain = calls.isCertainlyHandler(of: rest)
                let isByLoop = !isCertain && mayHaveClient && isInLoop(calls, of: rest, present, &state) && isAsleep(in: call)
                let shown = isCertain || isByLoop ? present : nil
                // It may be the C stack that has shown it, which is read again next.
                state.isInDoubt = shown == nil && state.handlerCall != nil
                (state.handlerCall, state.isShownByLoop) = (shown, isByLoop)
                return isHandler
            }
            if isUnmoved { break }
            // It has continued meanwhile, perhaps to the next of many short waits of one handler, which counts as lasting until
            // an examination contradicts.
            guard cll_procfs_syscall(process.pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED), call.number >= 0 else { break }
        }
        // A thread that keeps running is where it was, or where its process reports.
        return (stretch != 0 && state.handlerStretch == stretch) || isServing
    }

    /// Whether the code of the thread's language shows it in a handler. Looked up once for each call: half a millisecond at most.
    ///
    /// Only for a wait by `select`: others need little of the C stack, which shows their handlers, and most of the loops that are
    /// not in the language's code but in a C library's wait by `poll` or epoll.
    private func isInLoop(_ now: CallChain, of rest: CallChain, _ present: HandlerCall?, _ state: inout State) -> Bool {
        guard let present, Int(clr_wait_kind(state.readCall.number)) == CLR_WAIT_SELECT else { return false }
        if let known = state.loopAnswer, known.call == present { return known.isInLoop }
        guard let isInLoop = state.calls.isInLoop(now, of: rest) else { return false }
        state.loopAnswer = (present, isInLoop)
        return isInLoop
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
