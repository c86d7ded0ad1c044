internal import CLagLinux
internal import CLagRemote

extension LoopExaminer {
    /// The kernel leaves so much below the first stack free, but where that has no limit (`mmap_base`, arch/x86/mm/mmap.c).
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
        // Servers of several processes give the right to wait for connections from one to the next.
        if clr_waits_among_processes(process.pid, &call) != 0, state.service.hasNoClient(of: object, at: now) {
            return .waitingElsewhere
        }
        // One that serves a client after the other, as each process of a server that is forked before it is needed: who waits for it is the client that it waits for.
        if !isForProof, let object,
            state.service.awaitsClient(of: object, in: &call, at: now)
                || object.isAccepted(in: &call, process: process.pid)
        {
            return .waitingElsewhere
        }
        // An instance identifies its loop, however young. And who is in a handler, and waits for nothing that loops wait for but what its own loop does, is in no
        // other one: a `sleep` of Ruby's main thread polls an eventfd of the loop's.
        if isYoung, let object, object.epoll == nil, isLoops(call) {
            guard !isForProof, isInHandler(call, in: stretch, isServing: isServing, &state), !isLoops(call, besides: object)
            else {
                return .waitingElsewhere
            }
            return .waiting(isFurtherOut: false)
        }
        return switch Int(clr_call_use(process.pid, &call)) {
        case CLR_CALL_RESTS where isEnding && clr_awaits_own(&call) != 0: .ending
        case CLR_CALL_RESTS where state.service.hasNoChannel(of: object?.epoll, at: now): .waitingElsewhere
        // A handler of CPython, Ruby, Perl or PHP is good for a line. For an action the C stack has to say the same.
        case CLR_CALL_RESTS:
            .waiting(
                isFurtherOut: call.sp > limit
                    && (isForProof
                        || isOnFirstStack(limit, &state) && !isInHandler(call, in: stretch, isServing: isServing, &state))
            )
        case CLR_CALL_SLEEPS: object == nil && state.pause.isHandler(call.sp) ? .working : .sleeping
        default: .working
        }
    }

    /// Whether the main thread waits on the stack that the kernel gave it. On stacks of its own (GNU Pth and other libraries of coroutines) which of two calls is further
    /// out cannot be seen. Of other threads it is taken to be so.
    private func isOnFirstStack(_ stackPointer: UInt64, _ state: inout State) -> Bool {
        guard tid == process.pid else { return true }
        if state.firstStack == nil {
            var begin: UInt64 = 0
            state.firstStack = cll_procfs_image(process.pid, &begin) == 0 ? begin : 0
        }
        guard let begin = state.firstStack, begin > 0, stackPointer != .max else { return true }
        return stackPointer <= begin &+ Self.stackBytes && begin <= stackPointer &+ Self.stackBytes
    }

    /// Whether a thread that sleeps in this call is in a handler by the calls of its language; false: the C stack says where it is.
    /// - Parameter stretch: of work since its loop's last wait, in which it does not come back from a handler.
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
            // It has gone on meanwhile: of a handler of many short waits, which lasts as long as none of its looks says otherwise, into the next.
            guard cll_procfs_syscall(process.pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED), call.number >= 0 else { break }
        }
        // One that keeps going on is where it was, or where its process says.
        return (stretch != 0 && state.handlerStretch == stretch) || isServing
    }

    /// Whether the thread still sleeps in a call that was found before: what its arguments point to was what the kernel uses.
    func isAsleep(in call: cll_thread_syscall) -> Bool {
        var now = cll_thread_syscall()
        return cll_procfs_syscall(process.pid, tid, &now) == Int32(CLL_SYSCALL_BLOCKED) && now.number == call.number
            && now.sp == call.sp
            && now.pc == call.pc && now.arguments.0 == call.arguments.0 && now.arguments.1 == call.arguments.1
    }

    private static let mostReadings = 4

    /// Whether a thread that sleeps in this call waits for what loops wait for, besides what `known` is for.
    private func isLoops(_ call: cll_thread_syscall, besides known: WaitObject? = nil) -> Bool {
        var signals = WaitObject.SignalMembers()
        var other = WaitObject(process: process.pid, of: call)
        if let known { other = other?.subtracting(known) }
        return other?.work(pidfd: process.descriptor, process: process.pid, tid: tid, signals: &signals).kind == .loop
    }
}
