extension StallRecord {
    /// What the cause was derived from, measured over the stall. All optional: what could not be measured is not said.
    public struct Evidence: Sendable, Equatable {
        /// `cpu_ms`: the thread's time on a CPU.
        package var cpuNanoseconds: UInt64?
        /// `run_delay_ms`: runnable, but not scheduled.
        package var runDelayNanoseconds: UInt64?
        /// `throttled_ms`: the part of the run delay that the processor quota of its control groups took, at most; nil where none did, or
        /// that is not known.
        package var throttledNanoseconds: UInt64?
        /// `blocked_ms`: asleep in the kernel.
        package var blockedNanoseconds: UInt64?
        /// `system_ms`: in the kernel, a part of the time on a CPU.
        package var systemNanoseconds: UInt64?
        /// `minor_faults`: page faults without input.
        public var minorFaults: UInt64?
        /// `major_faults`: page faults that had to read.
        public var majorFaults: UInt64?
        /// `gc`: true where its language's garbage collector ran in the thread in more than half of the samples; nil: it did not, or that is not known.
        public var isCollecting: Bool?
        /// `syscall`: the system call it sits in, by name.
        public var syscall: String?
        /// `syscall_fd`: the descriptor that the call works on.
        public var syscallDescriptor: Int32?
        /// `syscall_target`: what the descriptor refers to, or what else the call works on: a path, a peer, a process.
        public var syscallTarget: String?
        /// `wchan`: the kernel function it sleeps in.
        public var wchan: String?
        /// `lock_kind`: what it waits for, when that is a lock or something like one.
        public var lockKind: LockKind?
        /// `lock_address`: where that lies; hex in the line.
        public var lockAddress: UInt64?
        /// `lock_owner`: the thread that holds the lock.
        public var lockOwner: LockOwner?
        /// `lock_readers`: how often a read-write lock is held for reading, where a writer waits for the readers. Its memory has
        /// their number, and does not say which threads they are.
        public var lockReaders: UInt64?
        /// `lock_cycle`: of a deadlock, the threads that wait for each other, each for the next one and the last for the first.
        public var lockCycle: [LockOwner] = []
        /// `lock_chain`: the thread that the lock's owner waits for, the one that this waits for, and so on.
        public var lockChain: [LockOwner] = []
        /// `pending`: whether events are ready at the loop that it does not fetch, or jobs wait in the queue; nil where its wait object cannot be polled.
        public var pending: Bool?
        /// `pending_ms`: for how long at least, when it was sampled.
        package var pendingNanoseconds: UInt64?
        /// `jobs_waiting`: of a dispatch queue, the main actor's included, how many blocks and jobs waited in it at most when it was sampled, up to
        /// 512; nil where that is not known.
        public var jobsWaiting: UInt64?
        /// `turns`: of a starvation, how many turns the loop made without a rest, the first and the last included; nil where they are not counted.
        public var turns: UInt64?
        /// `turn_events`: of a callout that is a whole turn of a loop known by its waits, how many descriptors were ready when it began: so many
        /// callbacks may be in it; nil where the wait did not say.
        public var turnEvents: UInt64?

        /// Nothing measured.
        public init() {}

        /// The stall has lasted longer than it was measured: what the thread used is not known of the whole.
        package mutating func forgetUsage() {
            (cpuNanoseconds, runDelayNanoseconds, throttledNanoseconds, blockedNanoseconds) = (nil, nil, nil, nil)
            (systemNanoseconds, minorFaults, majorFaults) = (nil, nil, nil)
        }
    }
}
