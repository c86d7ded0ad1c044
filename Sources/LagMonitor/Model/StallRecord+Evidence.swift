extension StallRecord {
    /// The evidence for the cause, measured over the stall. All optional: what could not be measured is left out.
    public struct Evidence: Sendable, Equatable {
        /// `cpu_ms`: the thread's time on a CPU.
        package var cpuNanoseconds: UInt64?
        /// `run_delay_ms`: runnable, but not scheduled.
        package var runDelayNanoseconds: UInt64?
        /// `throttled_ms`: the part of the run delay that the processor quota of its control groups took, at most; nil if none
        /// did, or if it is not known.
        package var throttledNanoseconds: UInt64?
        /// `blocked_ms`: asleep in the kernel.
        package var blockedNanoseconds: UInt64?
        /// `system_ms`: in the kernel, a part of the time on a CPU.
        package var systemNanoseconds: UInt64?
        /// `minor_faults`: page faults without input.
        public var minorFaults: UInt64?
        /// `major_faults`: page faults that had to read.
        public var majorFaults: UInt64?
        /// `gc`: true if its language's garbage collector ran in the thread in more than half of the samples; nil: it did not, or
        /// it is not known.
        public var isCollecting: Bool?
        /// `syscall`: the system call in which it was, by name.
        public var syscall: String?
        /// `syscall_fd`: the descriptor that the call works on.
        public var syscallDescriptor: Int32?
        /// `syscall_target`: what the descriptor refers to, or what else the call works on: a path, a peer, a process.
        public var syscallTarget: String?
        /// `wchan`: the kernel function in which it slept.
        public var wchan: String?
        /// `lock_kind`: what it waits for, if that is a lock or similar.
        public var lockKind: LockKind?
        /// `lock_address`: the address of the lock; hex in the line.
        public var lockAddress: UInt64?
        /// `lock_owner`: the thread that holds the lock.
        public var lockOwner: LockOwner?
        /// `lock_readers`: how often a read-write lock is held for reading, when a writer waits for the readers. Its memory
        /// contains their number, but not which threads they are.
        public var lockReaders: UInt64?
        /// `lock_cycle`: for a deadlock, the threads that wait for each other: each for the next one, the last for the first.
        public var lockCycle: [LockOwner] = []
        /// `lock_chain`: the thread for which the lock's owner waits, the thread for which that one waits, and so on.
        public var lockChain: [LockOwner] = []
        /// `pending`: whether events are ready at the loop that it does not fetch, or jobs wait in the queue; nil if its wait
        /// object cannot be polled.
        public var pending: Bool?
        /// `pending_ms`: how long they had been ready when it was sampled, at least.
        package var pendingNanoseconds: UInt64?
        /// `jobs_waiting`: for a dispatch queue, including the main actor's, the maximum number of blocks and jobs that waited in
        /// it when it was sampled, up to 512; nil if it is not known.
        public var jobsWaiting: UInt64?
        /// `turns`: for a starvation, how many turns the loop made without becoming idle, the first and the last included; nil if
        /// they are not counted.
        public var turns: UInt64?
        /// `turn_events`: for a callout that is a whole turn of a loop known by its waits, how many descriptors were ready when
        /// it began. It may contain that many callbacks. Nil if the wait did not report it.
        public var turnEvents: UInt64?

        /// Nothing measured.
        public init() {}

        /// The stall has lasted longer than it was measured: the thread's usage in the whole stall is not known.
        package mutating func forgetUsage() {
            (cpuNanoseconds, runDelayNanoseconds, throttledNanoseconds, blockedNanoseconds) = (nil, nil, nil, nil)
            (systemNanoseconds, minorFaults, majorFaults) = (nil, nil, nil)
        }
    }
}

// The fields of the properties above, for ``FieldTable``.
extension StallRecord.Evidence {
    static let fields: [FieldDefinition] = [
        .field(.cpu, "cpu_ms", .milliseconds(\.evidence.cpuNanoseconds), keep: .essential)
            .means("Time on a processor."),
        .field(.runDelay, "run_delay_ms", .milliseconds(\.evidence.runDelayNanoseconds), keep: .essential)
            .means("Time ready to run without a processor."),
        .field(.throttled, "throttled_ms", .milliseconds(\.evidence.throttledNanoseconds), keep: .essential)
            .means("The part of run_delay_ms that the processor quota of its control groups took, at most."),
        .field(.blocked, "blocked_ms", .milliseconds(\.evidence.blockedNanoseconds), keep: .essential)
            .means("Time asleep in the kernel."),
        .field(.system, "system_ms", .milliseconds(\.evidence.systemNanoseconds))
            .means("Time in the kernel: a part of cpu_ms."),
        .field(.minorFaults, "minor_faults", .count(\.evidence.minorFaults))
            .means("Page faults without input."),
        .field(.majorFaults, "major_faults", .count(\.evidence.majorFaults))
            .means("Page faults that had to read."),
        .field(.collecting, "gc", .flag(\.evidence.isCollecting), keep: .essential)
            .means("True if the garbage collector of its language ran in the thread in more than half of the samples."),
        .field(.syscall, "syscall", .text(\.evidence.syscall), cap: .name, keep: .essential)
            .means("The system call in which it was."),
        .field(.syscallDescriptor, "syscall_fd", .int32(\.evidence.syscallDescriptor))
            .means("The descriptor that the call works on."),
        .field(.syscallTarget, "syscall_target", .text(\.evidence.syscallTarget, as: .path), cap: .host, keep: .essential)
            .means("What the call works on: a path, a peer, a process."),
        .field(.wchan, "wchan", .text(\.evidence.wchan))
            .means("The kernel function in which it slept."),
        .field(.lockKind, "lock_kind", .word(\.evidence.lockKind), keep: .essential)
            .means("What it waited for."),
        .field(.lockAddress, "lock_address", .address(\.evidence.lockAddress), keep: .essential)
            .means("The lock's address."),
        .field(.lockOwner, "lock_owner", .thread(\.evidence.lockOwner), keep: .essential, in: .metadata)
            .means("The thread that holds the lock."),
        .field(.lockReaders, "lock_readers", .count(\.evidence.lockReaders)).means(
            "How many readers hold a read-write lock for which a writer waits; it is not known which threads they are."
        ),
        .field(.lockCycle, "lock_cycle", .threads(\.evidence.lockCycle), in: .metadata)
            .means("For a deadlock: the threads that wait for each other: each for the next, the last for the first."),
        .field(.lockChain, "lock_chain", .threads(\.evidence.lockChain), in: .metadata)
            .means("The thread for which the lock's owner waits, the thread for which that one waits, and so on."),
        .field(.pending, "pending", .flag(\.evidence.pending), keep: .essential)
            .means("Whether events are ready at the loop that it does not fetch, or jobs wait in the queue."),
        .field(.pendingTime, "pending_ms", .milliseconds(\.evidence.pendingNanoseconds), keep: .essential)
            .means("How long they had been ready when it was sampled, at least."),
        .field(.jobsWaiting, "jobs_waiting", .count(\.evidence.jobsWaiting)).means(
            """
            For a dispatch queue, including the main actor's: the maximum number of blocks and jobs that waited in it when it \
            was sampled, up to 512.
            """
        ),
        .field(.turns, "turns", .count(\.evidence.turns))
            .means("For a starvation: how many turns the loop made without becoming idle, the first and last included."),
        .field(.turnEvents, "turn_events", .count(\.evidence.turnEvents))
            .means("For a callout that is a whole turn: how many descriptors were ready when it began."),
    ]
}
