/// What a monitor has found and reported so far. The counters never decrease while it exists.
public struct StallMonitorStatistics: Sendable, Equatable {
    /// Stalls found.
    public var stalls: UInt64 = 0
    /// Records that have arrived at every sink's destination, as far as the sink reports it (a hang has two: `begin` and `end`).
    /// A record in a sink's queue counts when it has arrived; if it is lost there, it counts as ``dropped`` instead.
    public var reported: UInt64 = 0
    /// Records that were lost: more at once than memory was prepared for, or a sink did not accept them.
    public var dropped: UInt64 = 0
    /// Stalls that were held back on purpose: by a restore interval, or by ``StallMonitorConfiguration/limits``.
    public var suppressed: UInt64 = 0
    /// Lines that report a recurring stall (``StallMonitorConfiguration/recurrence``), due so far.
    public var recurring: UInt64 = 0
    /// Stalls that turned out not to be stalls: a debugger held the loop, or (under `lagmond run`) the program exited after it.
    public var dismissed: UInt64 = 0
    /// Contexts (`withStallContext`) that were not kept because 4096 were open; of the whole process.
    public var contextsRefused: UInt64 = 0
    /// Whether the monitor runs but cannot read a thread's task and its suspended callers, because it does not know this runtime.
    /// Then no record has them.
    public var tasksUnreadable = false
    /// Time in which the process could not run; it never counts as a stall. Separately: the time that a quota took
    /// (``Pauses/throttled``). Of the whole process, since its first monitor started.
    public var pauses = Pauses()

    /// Time in which the process as a whole could not run, as far as it was noticed.
    public struct Pauses: Sendable, Equatable {
        /// How often it was stopped, frozen or held by a debugger while a loop worked.
        public var processPauses: UInt64 = 0
        /// The total time of these pauses, at least.
        public var paused: Duration = .zero
        /// For how long the processor quota of its control groups kept threads from running, as of the last reading, while a loop
        /// worked or between two times that one did. Not a part of ``paused``, because this *is* the loops' time (cause
        /// `runqueue`).
        public var throttled: Duration = .zero
        /// How often the machine was suspended.
        public var suspensions: UInt64 = 0
        /// The total time of these suspensions.
        public var suspended: Duration = .zero
        /// How often the wall clock was set. This affects only `time` in records, not the stalls.
        public var clockSteps: UInt64 = 0

        /// All zero.
        public init() {}
    }

    /// All zero.
    public init() {}
}
