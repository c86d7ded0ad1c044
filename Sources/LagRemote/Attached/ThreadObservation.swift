internal import CLagLinux

/// What the kernel said of a thread in one sample from outside.
struct ThreadObservation: Sendable, Equatable {
    enum Doing: Sendable, Equatable {
        /// On a processor, or ready for one; in its own code or in a system call, which cannot be distinguished.
        case running
        /// Asleep in a system call (-1: in none, by a page fault), with the stack as it was when it entered it.
        case blocked(call: Int64, stackPointer: UInt64, programCounter: UInt64)
    }

    var doing: Doing
    /// Time on processors so far, as of the scheduler's last tick.
    var cpuNanoseconds: UInt64 = 0
    /// Time ready to run, without a processor.
    var delayNanoseconds: UInt64 = 0
    /// How often it was given a processor: one that was not has not moved.
    var runs: UInt64 = 0

    /// Where the thread sleeps; nil: it does not, or in no system call.
    var place: RestPlace? {
        guard case .blocked(let call, let stackPointer, let programCounter) = doing, call >= 0 else { return nil }
        let isEventWait = cll_is_event_wait(call) != 0
        return RestPlace(call: isEventWait ? nil : call, stackPointer: stackPointer, programCounter: programCounter)
    }

    /// Whether the thread can be held for a moment without noticing: it runs, or sleeps in a call that goes on by itself afterwards.
    var canBeHeld: Bool {
        switch doing {
        case .running: true
        case .blocked(let call, _, _): cll_resumes_after_stop(call) != 0
        }
    }
}

extension ThreadObservation {
    init(_ sample: cll_thread_sample) {
        let isBlocked = sample.state == Int32(CLL_SYSCALL_BLOCKED)
        doing =
            isBlocked
            ? .blocked(call: sample.call.number, stackPointer: sample.call.sp, programCounter: sample.call.pc) : .running
        cpuNanoseconds = sample.cpu_ns
        delayNanoseconds = sample.delay_ns
        runs = sample.runs
    }
}
