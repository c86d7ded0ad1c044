// Why the thread did not progress, and the evidence for that.
extension FieldTable {
    static let cause: [FieldDefinition] = [
        .field(.cause, "cause", .oneOf(\.cause), required: .stall, keep: .always)
            .means("Why the thread made no progress.")
    ]

    static let evidence: [FieldDefinition] = [
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
        .field(.incident, "incident", .id(\.incident), in: .metadata)
            .means("Shared by the stalls that one thread or one lock causes at the same time: the id of the first of them."),
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
