internal import CLagLinux
internal import CLagRemote
internal import Glibc

/// The kernel's data on a thread in one sample from outside.
struct ThreadObservation: Sendable, Equatable {
    enum Doing: Sendable, Equatable {
        /// On a processor, or ready for one; in its own code or in a system call (indistinguishable).
        case running
        /// Asleep in a system call (-1: not in a call, but by a page fault or a tracer's stop), with the stack as it was on entry.
        /// - epoll: the instance that the call waits on; negative: not such a wait.
        /// - isOfSeveral: whether it is a wait for several descriptors.
        case blocked(call: Int64, stackPointer: UInt64, programCounter: UInt64, epoll: Int32 = -1, isOfSeveral: Bool = false)
    }

    var doing: Doing
    /// Time on processors so far, as of the scheduler's last tick.
    var cpuNanoseconds: UInt64 = 0
    /// Time ready to run, without a processor.
    var delayNanoseconds: UInt64 = 0
    /// How often it got a processor: if unchanged, it has not moved.
    var runs: UInt64 = 0
    /// The listening socket, if it sleeps in `accept`.
    var listener: Int32?

    /// Where the thread sleeps; nil: it does not sleep, or not in a system call.
    var place: RestPlace? {
        guard case .blocked(let call, let stackPointer, let programCounter, let epoll, let isOfSeveral) = doing, call >= 0 else {
            return nil
        }
        let kind = clr_wait_kind(call)
        let isEventWait = kind != 0
        return RestPlace(
            call: isEventWait ? nil : call,
            stackPointer: stackPointer,
            programCounter: programCounter,
            epoll: epoll >= 0 ? epoll : nil,
            rank: epoll >= 0 ? 2 : isOfSeveral ? 1 : 0,
            kind: isEventWait ? kind : nil
        )
    }

    /// Whether the thread can be stopped for a moment without noticing: it runs, is not in a call, or sleeps in a call that continues
    /// by itself afterwards.
    var canBeHeld: Bool {
        switch doing {
        case .running: true
        case .blocked(let call, _, _, _, _): call < 0 || clr_resumes_after_stop(call) != 0
        }
    }
}

extension ThreadObservation {
    /// Whether a call waits with `poll` for several descriptors, or with `select` for any number, which is in the thread's
    /// memory.
    private static func isOfSeveral(_ call: inout cll_thread_syscall) -> Bool {
        let results = clr_results_of_wait(&call)
        // A poll stores its results through its first argument, a select through others.
        guard results.address == call.arguments.0 else { return results.length > 0 && call.arguments.0 > 0 }
        return Int(results.length) > MemoryLayout<pollfd>.size
    }

    init(_ sample: clr_thread_sample) {
        let isBlocked = sample.state == Int32(CLL_SYSCALL_BLOCKED)
        var call = sample.call
        doing =
            isBlocked
            ? .blocked(
                call: call.number,
                stackPointer: call.sp,
                programCounter: call.pc,
                epoll: clr_epoll_of_wait(&call),
                isOfSeveral: Self.isOfSeveral(&call)
            ) : .running
        cpuNanoseconds = sample.cpu_ns
        delayNanoseconds = sample.delay_ns
        runs = sample.runs
        listener = Self.listener(of: sample)
    }

    /// The listening socket at which the thread sleeps in `accept`; nil: it does not.
    static func listener(of sample: clr_thread_sample) -> Int32? {
        guard sample.state == Int32(CLL_SYSCALL_BLOCKED) else { return nil }
        let listener = withUnsafePointer(to: sample.call) { clr_listener_of_accept($0) }
        return listener >= 0 ? listener : nil
    }
}
