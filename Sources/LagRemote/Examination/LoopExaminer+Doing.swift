internal import CLagLinux
internal import CLagRemote
internal import Synchronization

extension LoopExaminer {
    /// The kernel leaves this much free below the first stack, unless that has no limit (`mmap_base`, arch/x86/mm/mmap.c).
    private static let stackBytes: UInt64 = 128 << 20

    /// What the thread does now, for ``QuietRule``.
    func doing(
        limit: UInt64,
        in stretch: UInt64,
        isEnding: Bool,
        isYoung: Bool,
        isServing: Bool,
        isForProof: Bool,
        at now: UInt64,
        _ state: inout State
    ) -> QuietRule.Doing {
        let object = state.object
        var call = cll_thread_syscall()
        guard cll_procfs_syscall(process.pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED), call.number >= 0 else { return .working }
        if clr_wait_kind(call.number) != 0, object?.isWaited(in: &call, of: process.pid) == true { return .waitingForAll }
        if object?.asksUser(in: &call, of: process.pid) == true { return .waitingElsewhere }
        // Servers with several processes pass the right to wait for connections from one to the next.
        if clr_waits_among_processes(process.pid, &call) != 0, state.service.hasNoClient(of: object, at: now) {
            return .waitingElsewhere
        }
        // A process that serves one client after the other, like each process of a preforking server: only the client that it
        // waits for waits for it.
        if !isForProof, let object,
            state.service.awaitsClient(of: object, in: &call, at: now)
                || object.isAccepted(in: &call, process: process.pid)
        {
            return .waitingElsewhere
        }
        // An instance identifies its loop, however young. And a thread in a handler that waits only for objects of its own loop
        // is not in another loop: a `sleep` of Ruby's main thread polls an eventfd of the loop. For an action, it is enough that
        // a client waits to be accepted at the loop's object: a finished start does not leave that behind.
        if isYoung, let object, object.epoll == nil, isLoops(call),
            !isForProof || !object.hasWaitingClient(pidfd: process.descriptor, process: process.pid)
        {
            guard !isForProof, isInHandler(call, in: stretch, isServing: isServing, &state), !isLoops(call, besides: object)
            else {
                return .waitingElsewhere
            }
            return .waiting(isFurtherOut: false)
        }
        return switch Int(clr_call_use(process.pid, &call)) {
        case CLR_CALL_RESTS where isEnding && clr_awaits_own(&call) != 0: .ending
        case CLR_CALL_RESTS
        where object?.epoll != nil && state.libraries.has(.javaMachine) && state.service.hasNoChannel(of: object?.epoll, at: now):
            .waitingElsewhere
        // For CPython, Ruby, Perl or PHP, the language's calls are enough for a line. For an action, the C stack must show the
        // same, or its calls if a client waits to be accepted.
        case CLR_CALL_RESTS:
            .waiting(
                isFurtherOut: call.sp > limit
                    && (isForProof
                        ? !hasClient(waitingFor: stretch, state)
                        : isOnFirstStack(limit, &state) && !isInHandler(call, in: stretch, isServing: isServing, &state))
            )
        case CLR_CALL_SLEEPS: object == nil && state.pause.isHandler(call.sp) ? .working : .sleeping
        default: .working
        }
    }

    /// Whether the thread is in a handler although it sleeps above the limit, by its call stack (`isHandler`): the wait itself may
    /// use more stack than all of a handler. Some 50 µs if it must be read.
    func isHandlerByCalls(_ facts: QuietRule, in stretch: UInt64, _ isHandler: (_ events: UInt64?) -> Bool) -> Bool {
        let (isShared, events, isKnown) = state.withLock {
            ($0.sharedNanoseconds != nil, $0.events, stretch != 0 && $0.stackStretch == stretch)
        }
        // While work is pending it is a stall at any place; then only an action needs it.
        let isUnknown = facts.isPendingElsewhere && !isKnown
        guard facts.isQuietByPlace || isUnknown, !isShared, isHandler(events) else { return false }
        state.withLock { $0.stackStretch = stretch }
        return true
    }

    /// Whether its call stack has shown the thread in a handler in this stretch of work, and a client waits to be accepted at the
    /// loop's object.
    private func hasClient(waitingFor stretch: UInt64, _ state: State) -> Bool {
        guard stretch != 0, state.stackStretch == stretch else { return false }
        return state.object?.hasWaitingClient(pidfd: process.descriptor, process: process.pid) == true
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
    private func isInHandler(_ call: cll_thread_syscall, in stretch: UInt64, isServing: Bool, _ state: inout State) -> Bool {
        guard let rest = state.readCalls else { return false }
        var call = call
        for _ in 0..<Self.mostReadings {
            let calls = state.calls.read()
            let isUnmoved = isAsleep(in: call)
            if let calls, isUnmoved {
                let isHandler = calls.isHandler(of: rest)
                state.handlerStretch = isHandler ? stretch : nil
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

    /// Whether the kernel has shown the thread in its wait, and it now sleeps deeper in the stack in another kind of call.
    func isSeen() -> Bool {
        var call = cll_thread_syscall()
        guard cll_procfs_syscall(process.pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED), clr_wait_kind(call.number) == 0 else {
            return false
        }
        return state.withLock { state in
            state.object != nil && state.object?.epoll == state.seenEpoll && call.sp < state.readStackPointer
        }
    }

    /// Whether the thread still sleeps in a call that was found before: then the memory of its arguments is what the kernel uses.
    func isAsleep(in call: cll_thread_syscall) -> Bool {
        var now = cll_thread_syscall()
        return cll_procfs_syscall(process.pid, tid, &now) == Int32(CLL_SYSCALL_BLOCKED) && now.number == call.number
            && now.sp == call.sp
            && now.pc == call.pc && now.arguments.0 == call.arguments.0 && now.arguments.1 == call.arguments.1
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
