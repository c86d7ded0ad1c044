// Why the thread stood still, and what that was derived from.
extension FieldTable {
    static let cause: [FieldDefinition] = [
        FieldDefinition(
            .cause,
            "cause",
            .oneOf(StallRecord.Cause.allCases.map(\.rawValue)),
            required: .stall,
            keep: .always,
            value: .word(\.cause),
            "Why the thread stood still."
        )
    ]

    static let evidence: [FieldDefinition] = [
        FieldDefinition(
            .cpu,
            "cpu_ms",
            .milliseconds,
            keep: .essential,
            value: .milliseconds(\.evidence.cpuNanoseconds),
            "On a processor."
        ),
        FieldDefinition(
            .runDelay,
            "run_delay_ms",
            .milliseconds,
            keep: .essential,
            value: .milliseconds(\.evidence.runDelayNanoseconds),
            "Ready to run, and without a processor."
        ),
        FieldDefinition(
            .throttled,
            "throttled_ms",
            .milliseconds,
            keep: .essential,
            value: .milliseconds(\.evidence.throttledNanoseconds),
            "The part of run_delay_ms that the processor quota of its control groups took, at most."
        ),
        FieldDefinition(
            .blocked,
            "blocked_ms",
            .milliseconds,
            keep: .essential,
            value: .milliseconds(\.evidence.blockedNanoseconds),
            "Asleep in the kernel."
        ),
        FieldDefinition(
            .system,
            "system_ms",
            .milliseconds,
            value: .milliseconds(\.evidence.systemNanoseconds),
            "In the kernel: a part of cpu_ms."
        ),
        FieldDefinition(
            .minorFaults,
            "minor_faults",
            .count,
            value: .count(\.evidence.minorFaults),
            "Page faults without input."
        ),
        FieldDefinition(
            .majorFaults,
            "major_faults",
            .count,
            value: .count(\.evidence.majorFaults),
            "Page faults that had to read."
        ),
        FieldDefinition(
            .collecting,
            "gc",
            .flag,
            keep: .essential,
            value: .flag(\.evidence.isCollecting),
            "True where the garbage collector of its language ran in the thread in more than half of the samples."
        ),
        FieldDefinition(
            .syscall,
            "syscall",
            .text,
            cap: .name,
            keep: .essential,
            value: .text(\.evidence.syscall),
            "The system call it sat in."
        ),
        FieldDefinition(
            .syscallDescriptor,
            "syscall_fd",
            .int32,
            value: .int32(\.evidence.syscallDescriptor),
            "The descriptor that the call works on."
        ),
        FieldDefinition(
            .syscallTarget,
            "syscall_target",
            .path,
            cap: .host,
            keep: .essential,
            value: .text(\.evidence.syscallTarget),
            "What that is: a path, a peer, a process."
        ),
        FieldDefinition(.wchan, "wchan", .text, value: .text(\.evidence.wchan), "The kernel's function it slept in."),
        FieldDefinition(
            .lockKind,
            "lock_kind",
            .word(StallRecord.LockKind.allCases.map(\.rawValue)),
            keep: .essential,
            value: .word(\.evidence.lockKind),
            "What it waited for."
        ),
        FieldDefinition(
            .lockAddress,
            "lock_address",
            .address,
            keep: .essential,
            value: .address(\.evidence.lockAddress),
            "Where the lock lies."
        ),
        FieldDefinition(
            .lockOwner,
            "lock_owner",
            .thread,
            keep: .essential,
            in: .metadata,
            value: .thread(\.evidence.lockOwner),
            "Who holds the lock."
        ),
        FieldDefinition(
            .lockReaders,
            "lock_readers",
            .count,
            value: .count(\.evidence.lockReaders),
            "How many readers hold a read-write lock that a writer waits for; the lock does not say which threads they are."
        ),
        FieldDefinition(
            .lockCycle,
            "lock_cycle",
            .threads,
            in: .metadata,
            value: .threads(\.evidence.lockCycle),
            "Of a deadlock, the threads that wait for each other: each for the next, the last for the first."
        ),
        FieldDefinition(
            .lockChain,
            "lock_chain",
            .threads,
            in: .metadata,
            value: .threads(\.evidence.lockChain),
            "Whom the lock's owner waits for, whom that one waits for, and so on."
        ),
        FieldDefinition(
            .incident,
            "incident",
            .stallID,
            in: .metadata,
            value: .stored(\.incident, { $0.map(FieldValue.id) }) { if case .id(let id) = $0 { .some(id) } else { nil } },
            "Shared by the stalls that one thread or one lock causes at the same time: the id of the first of them."
        ),
        FieldDefinition(
            .pending,
            "pending",
            .flag,
            keep: .essential,
            value: .flag(\.evidence.pending),
            "Whether events are ready at the loop that it does not fetch, or jobs wait in the queue."
        ),
        FieldDefinition(
            .pendingTime,
            "pending_ms",
            .milliseconds,
            keep: .essential,
            value: .milliseconds(\.evidence.pendingNanoseconds),
            "For how long at least, when it was sampled."
        ),
        FieldDefinition(
            .jobsWaiting,
            "jobs_waiting",
            .count,
            value: .count(\.evidence.jobsWaiting),
            "Of a dispatch queue, the main actor's included, how many blocks and jobs waited in it at most when it was sampled, up to 512."
        ),
        FieldDefinition(
            .turns,
            "turns",
            .count,
            value: .count(\.evidence.turns),
            "Of a starvation, how many turns the loop made without a rest, the first and the last included."
        ),
        FieldDefinition(
            .turnEvents,
            "turn_events",
            .count,
            value: .count(\.evidence.turnEvents),
            "Of a callout that is a whole turn, how many descriptors were ready when it began."
        ),
    ]
}
