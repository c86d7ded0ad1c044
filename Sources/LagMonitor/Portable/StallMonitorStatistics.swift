/// What a monitor has found and reported so far. Counters that never go back while it exists.
public struct StallMonitorStatistics: Sendable, Equatable {
    /// Stalls found.
    public var stalls: UInt64 = 0
    /// Records that have arrived at every sink's destination, as far as it says so (a hang has two: `begin` and `end`). What waits in a
    /// sink's queue counts when it has arrived; what is lost there is ``dropped`` and not this.
    public var reported: UInt64 = 0
    /// Records that got lost: no memory prepared for so many at once, or a sink did not take them.
    public var dropped: UInt64 = 0
    /// Stalls that were held back on purpose: by a restore interval, or by ``StallMonitorConfiguration/limits``.
    public var suppressed: UInt64 = 0
    /// Lines that say that a stall comes again and again (``StallMonitorConfiguration/recurrence``), due so far.
    public var recurring: UInt64 = 0
    /// Stalls that were none: a debugger held the loop, or (under `lagmond run`) the program exited after it.
    public var dismissed: UInt64 = 0
    /// Contexts (`withStallContext`) that were not kept, because 4096 were open; of the whole process.
    public var contextsRefused: UInt64 = 0
    /// Whether the monitor runs and cannot read which task a thread runs, nor its suspended callers: the runtime is one that is not known. Then no record has
    /// them.
    public var tasksUnreadable = false
    /// Time in which the process could not run: none of it makes a stall. And, apart from that, what a quota took (``Pauses/throttled``). Of the
    /// whole process, since its first monitor started.
    public var pauses = Pauses()

    /// Time in which the process as a whole could not run, as far as was noticed.
    public struct Pauses: Sendable, Equatable {
        /// How often it was stopped, frozen or held by a debugger while a loop worked.
        public var processPauses: UInt64 = 0
        /// For how long at least.
        public var paused: Duration = .zero
        /// For how long the processor quota of its control groups kept threads from running, as of the last reading, while a loop worked or between
        /// two times that one did: no part of ``paused``, because that *is* the loops' time (cause `runqueue`).
        public var throttled: Duration = .zero
        /// How often the machine was suspended.
        public var suspensions: UInt64 = 0
        /// For how long.
        public var suspended: Duration = .zero
        /// How often the wall clock was set; stalls do not follow it, only `time` in records does.
        public var clockSteps: UInt64 = 0

        /// All zero.
        public init() {}
    }

    /// All zero.
    public init() {}
}
